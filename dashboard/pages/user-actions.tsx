import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { Menu } from '../components/menu.js'
import { SecretDialog } from '../components/secret-dialog.js'
import { me } from '../session.js'
import { texts } from '../texts.js'
import { UserDialog } from './user-dialog.js'
import type { UserRow } from './users-query.js'

const t = texts.users

const disableDocument = graphql(`mutation DisableUser($id: ID!) { done: disableUser(userId: $id) { id } }`)
const enableDocument = graphql(`mutation EnableUser($id: ID!) { done: enableUser(userId: $id) { id } }`)
const removeFactorDocument = graphql(`mutation RemoveSecondFactor($id: ID!) { done: resetUserSecondFactor(userId: $id) { id } }`)
const endDocument = graphql(`mutation EndSessions($id: ID!) { endUserSessions(userId: $id) }`)
const resetDocument = graphql(`mutation ResetPassword($id: ID!) { resetUserPassword(userId: $id) { password } }`)

/** Menu of a user. Most actions are missing for the current user, who has the account page. */
export function UserActions({ user }: { user: UserRow }) {
  const { id, name, email, status, hasSecondFactor } = user
  const openDialog = useSignal<'edit' | 'disable' | 'signOut' | 'reset' | 'removeFactor' | undefined>(undefined)
  const password = useSignal<string | undefined>(undefined)
  const close = () => (openDialog.value = undefined)
  const changeStatus = async (document: typeof disableDocument | typeof enableDocument | typeof removeFactorDocument) => {
    const { error } = await mutate(document, { id })
    if (!error) reloadData()
    return error
  }
  const endSessions = async () => (await mutate(endDocument, { id })).error
  const resetPassword = async () => {
    const { data, error } = await mutate(resetDocument, { id })
    password.value = data?.resetUserPassword?.password
    return error
  }
  const show = (dialog: NonNullable<typeof openDialog.value>) => () => (openDialog.value = dialog)
  return (
    <>
      <Menu label={texts.actionsFor(name)}>
        <Button kind="quiet" onClick={show('edit')}>
          {t.edit}
        </Button>
        {id !== me.value?.id && (
          <>
            <Button kind="quiet" onClick={show('signOut')}>
              {t.signOutEverywhere}
            </Button>
            <Button kind="quiet" onClick={show('reset')}>
              {t.resetPassword}
            </Button>
            {hasSecondFactor && (
              <Button kind="quiet" onClick={show('removeFactor')}>
                {t.removeFactor}
              </Button>
            )}
            {status === 'active' ? (
              <Button kind="quiet" onClick={show('disable')}>
                {t.disable}
              </Button>
            ) : (
              <Button kind="quiet" onClick={() => changeStatus(enableDocument)}>
                {t.enable}
              </Button>
            )}
          </>
        )}
      </Menu>
      {openDialog.value === 'edit' && <UserDialog user={user} onClose={close} />}
      {openDialog.value === 'disable' && (
        <ConfirmDialog
          title={t.disableTitle}
          warning={t.disableWarning(name)}
          action={t.disable}
          onConfirm={() => changeStatus(disableDocument)}
          onClose={close}
        />
      )}
      {openDialog.value === 'signOut' && (
        <ConfirmDialog
          title={t.signOutTitle}
          warning={t.signOutWarning(name)}
          action={t.signOutEverywhere}
          onConfirm={endSessions}
          onClose={close}
        />
      )}
      {openDialog.value === 'removeFactor' && (
        <ConfirmDialog
          title={t.removeFactorTitle}
          warning={t.removeFactorWarning(name)}
          action={t.removeFactor}
          onConfirm={() => changeStatus(removeFactorDocument)}
          onClose={close}
        />
      )}
      {openDialog.value === 'reset' && (
        <ConfirmDialog
          title={t.resetTitle}
          warning={t.resetWarning(name)}
          action={t.resetPassword}
          onConfirm={resetPassword}
          onClose={close}
        />
      )}
      {password.value && (
        <SecretDialog
          title={t.passwordTitle(email)}
          notice={t.passwordNote}
          secret={password.value}
          closeLabel={t.passwordCopied}
          onClose={() => (password.value = undefined)}
        />
      )}
    </>
  )
}
