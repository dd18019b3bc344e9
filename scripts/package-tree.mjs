// Reads the dependency tree in package-lock.json.

/** Returns the folders in which Node.js searches for a dependency of the package at `path`, nearest first. */
export function getSearchFolders(path) {
  const folders = []
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) folders.push(`${at}/`)
  return [...folders, '']
}

/**
 * Returns the paths of all direct and transitive dependencies of the root package and its workspaces. `skips(parent, name)`
 * returns true for a dependency to ignore. The parent of a direct dependency is ''.
 */
export function findNeededPackages(packages, skips) {
  const needed = new Set(Object.keys(packages).filter((path) => getPackageName(path) === ''))
  // Iterating over a Set also visits members that are added during the iteration.
  for (const path of needed) {
    for (const name of getDependencyNames(packages[path])) {
      const folder = getSearchFolders(path).find((each) => packages[`${each}node_modules/${name}`])
      if (folder !== undefined && !skips(getPackageName(path), name)) needed.add(`${folder}node_modules/${name}`)
    }
  }
  return needed
}

/** Returns `@b/c` for `node_modules/a/node_modules/@b/c`, and '' for the root package and workspaces. */
const getPackageName = (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1] ?? ''

function getDependencyNames({ dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} }) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]
}
