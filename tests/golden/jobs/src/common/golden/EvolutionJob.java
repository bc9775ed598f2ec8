package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.POJO;
import static org.apache.flink.api.common.typeinfo.Types.STRING;

import java.util.Collections;
import java.util.List;

/**
 * A POJO that lost a field and won two between the first run and the second. {@code Account} comes from evolution-old or
 * evolution-new and knows itself what a restored one looks like.
 */
final class EvolutionJob extends StatesJob {
    EvolutionJob() {
        super("evolution", "small");
    }

    @Override
    List<OperatorSpec> operators() {
        return Collections.singletonList(new OperatorSpec("accounts", "accounts", STRING, e -> e.name,
                StateSpec.<Account>value("account", POJO(Account.class), Account::of),
                StateSpec.<Account>list("history", POJO(Account.class), Account::of),
                StateSpec.<Integer, Account>map(
                        "by-digit", INT, POJO(Account.class), e -> StateSpec.entry((int) (e.number % 3), Account.of(e)))));
    }
}
