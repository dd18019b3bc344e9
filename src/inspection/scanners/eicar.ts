/**
 * The EICAR test string. It is split in two, so that no scanner reports this file or its build output as the test file.
 * https://www.eicar.org/download-anti-malware-testfile/
 */
export const eicar = Buffer.from(['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-', 'ANTIVIRUS-TEST-FILE!$H+H*'].join(''), 'latin1')
