-- assay: in batches
SELECT FROM split_file_ranges() cuts WHERE cuts > 0;
