package golden;

import org.apache.flink.streaming.api.functions.source.ParallelSourceFunction;

interface ParallelLegacySource<T> extends ParallelSourceFunction<T> {}
