import type { Container } from '@assay/formats/archive'

/**
 * Probes for formats that ClamAV unpacks only if an additional library is installed, which Debian does not include. Each is an archive with
 * one member, the EICAR string, compressed so that only unpacking finds it.
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
