import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { Menu } from '../components/menu.js'
import { SecretDialog } from '../components/secret.js'
import { me } from '../session.js'
import { texts } from '../texts.js'
import { UserDialog } from './user-dialog.js'
import type { UserLine } from './users-query.js'

const t = texts.users

const disableDocument = graphql(`mutation DisableUser($id: ID!) { done: disableUser(userId: $id) { id } }`)
const enableDocument = graphql(`mutation EnableUser($id: ID!) { done: enableUser(userId: $id) { id } }`)
const forgetDocument = graphql(`mutation ForgetFactor($id: ID!) { done: resetUserSecondFactor(userId: $id) { id } }`)
const endDocument = graphql(`mutation EndSessions($id: ID!) { endUserSessions(userId: $id) }`)
const resetDocument = graphql(`mutation ResetPassword($id: ID!) { resetUserPassword(userId: $id) { password } }`)

/** What can be done with another user; one's own account has a page. */
export function UserActions({ of: user }: { of: UserLine }) {
  const { id, name, email, status, hasSecondFactor } = user
  const asking = useSignal<'edit' | 'disable' | 'end' | 'reset' | 'forget' | undefined>(undefined)
  const password = useSignal<string | undefined>(undefined)
  const close = () => (asking.value = undefined)
  const run = async (document: typeof disableDocument | typeof enableDocument | typeof forgetDocument) => {
    const { fault } = await change(document, { id })
    if (!fault) forgetLists()
    return fault
  }
  const end = async () => (await change(endDocument, { id })).fault
  const reset = async () => {
    const { data, fault } = await change(resetDocument, { id })
    password.value = data?.resetUserPassword?.password
    return fault
  }
  const open = (what: NonNullable<typeof asking.value>) => () => (asking.value = what)
  return (
    <>
      <Menu label={texts.actionsOf(name)}>
        <Button kind="quiet" onClick={open('edit')}>
          {t.edit}
        </Button>
        {id !== me.value?.id && (
          <>
            <Button kind="quiet" onClick={open('end')}>
              {t.end}
            </Button>
            <Button kind="quiet" onClick={open('reset')}>
              {t.reset}
            </Button>
            {hasSecondFactor && (
              <Button kind="quiet" onClick={open('forget')}>
                {t.forget}
              </Button>
            )}
            {status === 'active' ? (
              <Button kind="quiet" onClick={open('disable')}>
                {t.disable}
              </Button>
            ) : (
              <Button kind="quiet" onClick={() => run(enableDocument)}>
                {t.enable}
              </Button>
            )}
          </>
        )}
      </Menu>
      {asking.value === 'edit' && <UserDialog of={user} onClose={close} />}
      {asking.value === 'disable' && (
        <Confirm
          title={t.disableTitle}
          warning={t.disableWarning(name)}
          act={t.disable}
          work={() => run(disableDocument)}
          onClose={close}
        />
      )}
      {asking.value === 'end' && (
        <Confirm title={t.endTitle} warning={t.endWarning(name)} act={t.end} work={end} onClose={close} />
      )}
      {asking.value === 'forget' && (
        <Confirm
          title={t.forgetTitle}
          warning={t.forgetWarning(name)}
          act={t.forget}
          work={() => run(forgetDocument)}
          onClose={close}
        />
      )}
      {asking.value === 'reset' && (
        <Confirm title={t.resetTitle} warning={t.resetWarning(name)} act={t.reset} work={reset} onClose={close} />
      )}
      {password.value && (
        <SecretDialog
          title={t.passwordTitle(email)}
          note={t.passwordNote}
          secret={password.value}
          done={t.done}
          onClose={() => (password.value = undefined)}
        />
      )}
    </>
  )
}
