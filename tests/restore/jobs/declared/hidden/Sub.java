package declared.hidden;

import org.apache.flink.api.common.typeinfo.Types;

/** Sets a field of its superclass: its code calls it one of its own. */
abstract class Sub extends Base {
    private static final long serialVersionUID = 1L;

    Sub() {
        type = Types.INT;
    }
}
