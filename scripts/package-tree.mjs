// Reads the tree of packages in package-lock.json.

/** Folders in which Node.js looks for a dependency of the package at `path`, nearest first. */
export function foldersAbove(path) {
  const folders = []
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) folders.push(`${at}/`)
  return [...folders, '']
}

/**
 * Paths of the packages that the root and its workspaces need, directly or not. `skips(parent, name)` is true for a
 * dependency to ignore. The parent of a direct dependency is ''.
 */
export function neededPackages(packages, skips) {
  const needed = new Set(Object.keys(packages).filter((path) => packageName(path) === ''))
  // A Set iterates over the members that are added meanwhile.
  for (const path of needed) {
    for (const name of dependencyNames(packages[path])) {
      const folder = foldersAbove(path).find((each) => packages[`${each}node_modules/${name}`])
      if (folder !== undefined && !skips(packageName(path), name)) needed.add(`${folder}node_modules/${name}`)
    }
  }
  return needed
}

/** `node_modules/a/node_modules/@b/c` is `@b/c`. The root and a workspace are ''. */
const packageName = (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1] ?? ''

function dependencyNames({ dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} }) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]
}
