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

type DialogName = 'edit' | 'disable' | 'signOut' | 'reset' | 'removeFactor'

export function UserActions({ user }: { user: UserRow }) {
  const { id, name, email } = user
  const openDialog = useSignal<DialogName | undefined>(undefined)
  const password = useSignal<string | undefined>(undefined)
  const closeDialog = () => (openDialog.value = undefined)
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
  const confirmations = {
    disable: {
      title: t.disableTitle,
      warning: t.disableWarning(name),
      action: t.disable,
      onConfirm: () => changeStatus(disableDocument),
    },
    signOut: { title: t.signOutTitle, warning: t.signOutWarning(name), action: t.signOutEverywhere, onConfirm: endSessions },
    reset: { title: t.resetTitle, warning: t.resetWarning(name), action: t.resetPassword, onConfirm: resetPassword },
    removeFactor: {
      title: t.removeFactorTitle,
      warning: t.removeFactorWarning(name),
      action: t.removeFactor,
      onConfirm: () => changeStatus(removeFactorDocument),
    },
  }
  const confirmation = openDialog.value && openDialog.value !== 'edit' && confirmations[openDialog.value]
  return (
    <>
      <UserMenu user={user} onSelect={(dialog) => (openDialog.value = dialog)} onEnable={() => changeStatus(enableDocument)} />
      {openDialog.value === 'edit' && <UserDialog user={user} onClose={closeDialog} />}
      {confirmation && <ConfirmDialog key={openDialog.value} {...confirmation} onClose={closeDialog} />}
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

interface UserMenuProps {
  user: UserRow
  onSelect: (dialog: DialogName) => void
  onEnable: () => void
}

/** Menu for a user. Most actions for the current user are on the account page instead. */
function UserMenu({ user, onSelect, onEnable }: UserMenuProps) {
  const createSelectHandler = (dialog: DialogName) => () => onSelect(dialog)
  return (
    <Menu label={texts.actionsFor(user.name)}>
      <Button kind="quiet" onClick={createSelectHandler('edit')}>
        {t.edit}
      </Button>
      {user.id !== me.value?.id && (
        <>
          <Button kind="quiet" onClick={createSelectHandler('signOut')}>
            {t.signOutEverywhere}
          </Button>
          <Button kind="quiet" onClick={createSelectHandler('reset')}>
            {t.resetPassword}
          </Button>
          {user.hasSecondFactor && (
            <Button kind="quiet" onClick={createSelectHandler('removeFactor')}>
              {t.removeFactor}
            </Button>
          )}
          {user.status === 'active' ? (
            <Button kind="quiet" onClick={createSelectHandler('disable')}>
              {t.disable}
            </Button>
          ) : (
            <Button kind="quiet" onClick={onEnable}>
              {t.enable}
            </Button>
          )}
        </>
      )}
    </Menu>
  )
}
