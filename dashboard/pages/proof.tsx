import { Page } from '../components/page.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { RecentReceipts } from './recent-receipts.js'
import { TransparencyLog } from './transparency-log.js'
import { VerifyReceipt } from './verify-receipt.js'

const t = texts.proof

export const Proof = () => (
  <Page title={t.title} description={t.about}>
    <VerifyReceipt />
    {hasScope('metadata') && <RecentReceipts />}
    {hasScope('admin') && <TransparencyLog />}
  </Page>
)
