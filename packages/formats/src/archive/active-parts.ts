const activePartPatterns: [RegExp, string][] = [
  [/(^|\/)vbaProject\.bin$/i, 'VBA macros'],
  [/^xl\/macrosheets\//i, 'XLM macros'],
  [/\/activeX\/[^/]+\.bin$/i, 'ActiveX control'],
  [/\/embeddings\/oleObject[^/]*\.bin$/i, 'embedded object'],
  [/^Basic\/.+\/.+\.xml$/, 'Basic macros'],
  [/^Scripts\//, 'scripts'],
]

/** Finds active content in a zip-based document by its member names. */
export const findActiveParts = (names: Iterable<string>): string[] => {
  const all = [...names]
  return activePartPatterns.filter(([pattern]) => all.some((name) => pattern.test(name))).map(([, what]) => what)
}
