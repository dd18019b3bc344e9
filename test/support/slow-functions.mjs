// Finds functions that blocked the event loop in a V8 CPU profile.

const project = new URL('../..', import.meta.url).href

/**
 * @returns {{ functions: string[], calls: string[], collectedMs: number }} the slowest functions by self time and by total time
 */
export function findSlowFunctions({ from, to }, profile, collections) {
  const collectedMs = collections.filter((each) => each.from >= from && each.from < to).reduce((sum, { ms }) => sum + ms, 0)
  if (!profile) return { functions: [], calls: [], collectedMs }
  const tree = (profile.tree ??= buildTree(profile))
  const own = new Map()
  const below = new Map()
  let at = profile.startTime / 1000
  for (const [index, id] of profile.samples.entries()) {
    const ms = profile.timeDeltas[index] / 1000
    at += ms
    if (at < from || at > to + 1) continue
    const stack = getStack(tree, id)
    addTime(own, stack[0], ms)
    for (const name of new Set(stack)) addTime(below, name, ms)
  }
  return { functions: findMostExpensive(own, 5), calls: findMostExpensive(below, 12), collectedMs }
}

const buildTree = ({ nodes }) => {
  const tree = new Map(nodes.map((node) => [node.id, { name: getFunctionName(node.callFrame), parent: undefined }]))
  for (const node of nodes) for (const child of node.children ?? []) tree.get(child).parent = tree.get(node.id)
  return tree
}

function getStack(tree, id) {
  const stack = []
  for (let node = tree.get(id); node; node = node.parent) stack.push(node.name)
  return stack
}

const getFunctionName = ({ functionName, url, lineNumber }) =>
  `${functionName || '(anonymous)'}${url ? ` ${url.replace(project, '').replace(/^.*node_modules\//, '')}:${lineNumber + 1}` : ''}`

const addTime = (sums, name, ms) => sums.set(name, (sums.get(name) ?? 0) + ms)

const findMostExpensive = (sums, count) =>
  [...sums]
    .sort(([, one], [, other]) => other - one)
    .filter(([name]) => name !== '(root)')
    .slice(0, count)
    .map(([name, ms]) => `${ms.toFixed(1)} ms ${name}`)
