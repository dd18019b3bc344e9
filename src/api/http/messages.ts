import { IncomingMessage, ServerResponse } from 'node:http'
import type { Express } from 'express'
import { isSubscription } from './subscription-door.js'

const wishes = new WeakSet<object>()

/**
 * The classes of a server's requests and answers. Express gives each of them the prototype of its application, and an object that gets
 * another prototype is slow from then on: that doubles what a small call costs Node. Those that are made with it are left as they are.
 */
export function messagesOf(app: Express | undefined) {
  /**
   * A server that takes WebSockets would take every wish to upgrade for one (Java's client wishes for h2c with each request): those that
   * are none are requests like any other, as they are for a server that takes none.
   */
  class Asked extends IncomingMessage {
    get upgrade(): boolean {
      return wishes.has(this) && (this.method === 'CONNECT' || isSubscription(this))
    }

    set upgrade(wished: boolean) {
      if (wished) wishes.add(this)
      else wishes.delete(this)
    }
  }
  class Answer extends ServerResponse<Asked> {}
  if (app) {
    app.request = Object.setPrototypeOf(Asked.prototype, app.request)
    app.response = Object.setPrototypeOf(Answer.prototype, app.response)
  }
  return { IncomingMessage: Asked, ServerResponse: Answer }
}
