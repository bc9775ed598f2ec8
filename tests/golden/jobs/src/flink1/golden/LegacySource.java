package golden;

import org.apache.flink.streaming.api.functions.source.SourceFunction;

interface LegacySource<T> extends SourceFunction<T> {}
