/**
 * The EICAR test string. In two halves, so that no scanner takes this file, or what is built from it, for the test file.
 * https://www.eicar.org/download-anti-malware-testfile/
 */
export const eicar = Buffer.from(['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-', 'ANTIVIRUS-TEST-FILE!$H+H*'].join(''), 'latin1')
