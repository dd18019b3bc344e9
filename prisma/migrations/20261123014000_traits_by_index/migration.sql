-- The plan is made once for a connection, for as many reports as come first: thirty of them, while there are few files, made it one that reads all
-- files for each report from then on, until statistics are gathered.
ALTER FUNCTION keep_file_traits() SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off;
