import type { Migration } from 'kysely'
import * as initial from './0001-initial.ts'
import * as transactions from './0002-transactions.ts'
import * as phygitals from './0003-phygitals.ts'
import * as badges from './0004-badges.ts'
import * as nfc from './0005-nfc.ts'
import * as contractProblems from './0006-contract-problems.ts'
import * as budgets from './0007-budgets.ts'
import * as keptCounts from './0008-kept-counts.ts'
import * as batches from './0009-batches.ts'
import * as audit from './0010-audit.ts'
import * as restore from './0011-restore.ts'
import * as badgeContents from './0012-badge-contents.ts'
import * as importBatches from './0012-import-batches.ts'
import * as assignmentBatches from './0013-assignment-batches.ts'
import * as badgeRecipients from './0014-badge-recipients.ts'
import * as webhooks from './0015-webhooks.ts'
import * as publicReads from './0016-public-reads.ts'
import * as transferSignatures from './0017-transfer-signatures.ts'
import * as tapPage from './0018-tap-page.ts'
import * as field from './0019-field.ts'
import * as fleet from './0020-fleet.ts'
import * as batchesOfTeam from './0021-batches-of-team.ts'
import * as daemons from './0022-daemons.ts'
import * as sealed from './0023-sealed.ts'

/** From this one on, the audit log says since when it is sealed. */
export const sealedSchema = '0023-sealed'

/** Forward only, sorted by name. Never change a released migration. */
export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
  '0002-transactions': transactions,
  '0003-phygitals': phygitals,
  '0004-badges': badges,
  '0005-nfc': nfc,
  '0006-contract-problems': contractProblems,
  '0007-budgets': budgets,
  '0008-kept-counts': keptCounts,
  '0009-batches': batches,
  '0010-audit': audit,
  '0011-restore': restore,
  '0012-badge-contents': badgeContents,
  '0012-import-batches': importBatches,
  '0013-assignment-batches': assignmentBatches,
  '0014-badge-recipients': badgeRecipients,
  '0015-webhooks': webhooks,
  '0016-public-reads': publicReads,
  '0017-transfer-signatures': transferSignatures,
  '0018-tap-page': tapPage,
  '0019-field': field,
  '0020-fleet': fleet,
  '0021-batches-of-team': batchesOfTeam,
  '0022-daemons': daemons,
  [sealedSchema]: sealed,
}
