import type { Container } from '@assay/formats/archive'

/**
 * What ClamAV unpacks only where a library is installed beside it, which Debian leaves out: an archive of each, whose one member is the
 * EICAR string, packed once more so that it is not found in the archive as it is.
 */
export const unpackProbes: Partial<Record<Container, Buffer>> = {
  rar: Buffer.from(
    'UmFyIRoHAM+QcwAADQAAAAAAAACYNXQAgCQAWAAAAFgAAAADbIuefwAAIQAUMAQApIEAAEEuR1ofiwgAAAAAAAADizD1VwxQdXAMiDaJCYiKMDXRCIjTNHd21jSvVXH1dHYM0g0OcfRzcQxy0XX0C/EM8wwKDdYNcQ0O0XXz9HFVVPHQ9tACADzPUWhEAAAAxD17AEAHAA==',
    'base64',
  ),
  rar5: Buffer.from(
    'UmFyIRoHAQDFGjMyAwEAADSk8YYTAgJYBFikgwJsi55/AAEEQS5HWh+LCAAAAAAAAAOLMPVXDFB1cAyINokJiIowNdEIiNM0d3bWNK9VcfV0dgzSDQ5x9HNxDHLRdfQL8QzzDAoN1g1xDQ7RdfP0cVVU8dD20AIAPM9RaEQAAAAZsjo1AwUAAA==',
    'base64',
  ),
}
