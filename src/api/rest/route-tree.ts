import type { Route } from './routes.js'

interface Node {
  literals: Map<string, Node>
  parameter?: { name: string; node: Node }
  routes: Map<string, Route>
}

const node = (): Node => ({ literals: new Map(), routes: new Map() })

/** What a path leads to: its routes by method, and its parameters. */
export interface Match {
  routes: ReadonlyMap<string, Route>
  parameters: Record<string, string>
}

/** Finds routes by path. A literal segment wins over a parameter. */
export class RouteTree {
  readonly #root = node()

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      let at = this.#root
      for (const segment of route.path.split('/').slice(1)) {
        const name = /^\{(\w+)\}$/.exec(segment)?.[1]
        if (name) at = (at.parameter ??= { name, node: node() }).node
        else {
          if (!at.literals.has(segment)) at.literals.set(segment, node())
          at = at.literals.get(segment)!
        }
      }
      at.routes.set(route.method, route)
    }
  }

  /** Undefined where there is no such path, or its escapes are broken. */
  find(path: string): Match | undefined {
    const parameters: Record<string, string> = {}
    let at: Node | undefined = this.#root
    for (const segment of path.split('/').slice(1)) {
      const literal: Node | undefined = at.literals.get(segment)
      if (literal) {
        at = literal
        continue
      }
      if (!at.parameter || segment === '') return undefined
      try {
        parameters[at.parameter.name] = decodeURIComponent(segment)
      } catch {
        return undefined
      }
      at = at.parameter.node
    }
    return at.routes.size > 0 ? { routes: at.routes, parameters } : undefined
  }
}
