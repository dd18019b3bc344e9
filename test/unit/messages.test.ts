import 'reflect-metadata'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import express from 'express'
import { httpServer } from '../../src/api/http/server.js'

test('Express gives a request and its answer no other prototype than they were made with', async () => {
  const app = express()
  app.get('/', (request, response) => void response.json({ path: request.path }))
  const prototypes: unknown[][] = []
  const server = httpServer((request, response) => {
    const note = () => prototypes.push([Object.getPrototypeOf(request), Object.getPrototypeOf(response)])
    note()
    response.once('finish', note)
    app(request, response)
  }, app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  expect(await answer.json()).toEqual({ path: '/' })
  const [made, answered] = prototypes
  expect(answered![0]).toBe(made![0])
  expect(answered![1]).toBe(made![1])
  server.closeAllConnections()
  server.close()
})
