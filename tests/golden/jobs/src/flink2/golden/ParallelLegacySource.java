package golden;

import org.apache.flink.streaming.api.functions.source.legacy.ParallelSourceFunction;

interface ParallelLegacySource<T> extends ParallelSourceFunction<T> {}
