"""Would Flink restore a snapshot into another job? Serializer snapshots and class files in, verdicts out.

The rules are those of ``TypeSerializerSnapshot.resolveSchemaCompatibility`` and of what is around it, by the measured
behaviour of Flink 1.20 and 2.3 (``docs/restore.md``). One module for each family of serializers:

===================  ==============================================================================================
answers              the five answers of a comparison, and what else is found on the way
compare_serializers  the table of families; what has no rules of its own: scalars, composites, enums, tuples, rows
pojo_rules           POJOs and records
avro_rules           Avro, by schema resolution
kryo_rules           generic types, by class files
sql_rules            rows of SQL, by their logical types
ttl_rules            time to live, on and off
job_classes          class files of a job: what can be loaded, what the shapes are
type_extractor       Flink's ``TypeExtractor``: which serializer a class has
bytecode             follows the values of a method, to what it declares
declarations         states, keys and uids that the code of a job declares; ``typeinfo``: their types
by_classes           what that proves of a state of the snapshot
derive               new snapshots of old ones, where classes change and declarations do not
loading              whether an old serializer snapshot can be read against the new classes
state_rules          the checks of a backend when a state is registered: kind, key, namespace, value
one_state            one state by backend, against the new job's snapshot or classes
doubts               what only the values of a state show
two_jobs             what is known of both jobs, and the answers
whole_job            operators, parallelism, all states: what ``check`` shows
===================  ==============================================================================================

Opens only the class path that it is given; decodes no values.
"""
