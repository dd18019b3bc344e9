import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let user: Caller
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
  user = await tenant.createUser(['admin'])
  for (let index = 0; index < 9; index++) {
    await tenant.admin.upload('notes', index % 3 === 0 ? 'a.exe' : 'a.txt', 'text')
    await tenant.admin.get('/files')
  }
})
afterAll(() => world.close())

const lists: Record<string, [field: string, filter: string]> = {
  'the call log': ['callLogs', ''],
  'failures in the call log': ['callLogs', 'status: failure'],
  'a period of the call log': ['callLogs', 'operation: upload, startDate: "2020-01-01", endDate: "2999-01-01"'],
  'the audit log': ['auditLogs', ''],
  'file creations in the audit log': ['auditLogs', 'auditType: file, action: created'],
}

test.each(Object.keys(lists))(
  'pages through a GraphQL connection of %s, both backwards and between two cursors',
  async (name) => {
    const [field, filter] = lists[name]!
    const request = async (
      args: string,
    ): Promise<{ ids: string[]; cursors: string[]; totalCount: number; pageInfo: Record<string, unknown> }> => {
      const { body }: ApiResponse = await user.graphql(
        `{ ${field}Connection(${[filter, args].filter((text) => text !== '').join(', ')}) { totalCount edges { cursor node { id } } pageInfo { startCursor hasPreviousPage hasNextPage } } }`,
      )
      const { edges, totalCount, pageInfo } = body.data[`${field}Connection`]
      const of = (member: string) => edges.map((edge: Record<string, unknown>) => edge[member])
      return { ids: of('node').map(({ id }: { id: string }) => id), cursors: of('cursor'), totalCount, pageInfo }
    }
    const { ids: all, cursors, totalCount } = await request('first: 100')
    expect(all.length).toBeGreaterThan(2)
    expect(totalCount).toBe(all.length)

    const observed: string[] = []
    for (let before = ''; ; ) {
      const { ids, pageInfo } = await request(`last: 2${before}`)
      observed.unshift(...ids)
      expect(pageInfo.hasNextPage).toBe(before !== '')
      if (!pageInfo.hasPreviousPage) break
      before = `, before: "${pageInfo.startCursor}"`
    }
    expect(observed).toEqual(all)

    const between = `after: "${cursors[0]}", before: "${cursors.at(-1)}"`
    expect((await request(`first: 100, ${between}`)).ids).toEqual(all.slice(1, -1))
    expect((await request(`last: 1, ${between}`)).ids).toEqual(all.slice(-2, -1))
  },
)
