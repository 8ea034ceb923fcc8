import { type Kysely, sql } from 'kysely'
import {
  createdAt,
  credential,
  numbered,
  ofTeam,
  optional,
  required,
  strict,
  strictClustered,
} from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await ownership(db)
  await things(db)
  await chips(db)
  await events(db)
  await taps(db)
  await records(db)
}

async function ownership(db: Kysely<unknown>): Promise<void> {
  await numbered(createdAt(db.schema.createTable('teams')))
    .addColumn('name', 'text', (c) => c.notNull().unique())
    .modifyEnd(strict)
    .execute()
  await credential(ofTeam(numbered(db.schema.createTable('apiKeys'))))
    .addColumn('hint', 'text', (c) => c.notNull())
    .modifyEnd(strict)
    .execute()
  await credential(numbered(db.schema.createTable('adminTokens')))
    .modifyEnd(strict)
    .execute()
  await createdAt(db.schema.createTable('keySets'))
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('metaReadKey', 'blob', (c) => c.notNull())
    .$call(optional('blob', 'fileReadKey appMasterKey'))
    .$call(required('text', 'diversification systemIdentifier'))
    .addColumn('macInputFrom', 'text')
    .$call(required('text', 'nameOfE nameOfC nameOfD'))
    .modifyEnd(strict)
    .execute()
  await ofTeam(numbered(createdAt(db.schema.createTable('links'))))
    .$call(required('text', 'label baseUrl'))
    .addUniqueConstraint('linksOneOfALabel', ['teamId', 'label'])
    .modifyEnd(strict)
    .execute()
}

async function things(db: Kysely<unknown>): Promise<void> {
  await ofTeam(numbered(createdAt(db.schema.createTable('contracts'))))
    .$call(required('text', 'kind symbol name'))
    .addColumn('chainId', 'integer', (c) => c.notNull())
    .$call(required('text', 'address status'))
    .$call(optional('integer', 'twoTapDelaySeconds twoTapWindowSeconds'))
    .addUniqueConstraint('contractsOneOfASymbol', ['teamId', 'symbol'])
    .addUniqueConstraint('contractsOneAtAnAddress', ['chainId', 'address'])
    .modifyEnd(strict)
    .execute()
  await numbered(createdAt(db.schema.createTable('tokens')))
    .addColumn('contractId', 'integer', (c) => c.notNull().references('contracts.id'))
    .addColumn('tokenId', 'text', (c) => c.notNull())
    .$call(optional('text', 'owner metadata'))
    .addUniqueConstraint('tokensOneOfAnId', ['contractId', 'tokenId'])
    .modifyEnd(strict)
    .execute()
  await ofTeam(createdAt(db.schema.createTable('items')))
    .$call(required('text', 'id name description imageUrl'))
    .addColumn('contractId', 'integer', (c) => c.references('contracts.id'))
    .$call(required('text', 'media attributes variants'))
    .addPrimaryKeyConstraint('itemsKey', ['teamId', 'id'])
    .modifyEnd(strictClustered)
    .execute()
}

async function chips(db: Kysely<unknown>): Promise<void> {
  await ofTeam(numbered(createdAt(db.schema.createTable('chipGroups'))))
    .addColumn('name', 'text', (c) => c.notNull())
    .addUniqueConstraint('chipGroupsOneOfAName', ['teamId', 'name'])
    .modifyEnd(strict)
    .execute()
  await ofTeam(createdAt(db.schema.createTable('chips')))
    .addColumn('uid', 'text', (c) => c.primaryKey().notNull())
    .addColumn('chipGroupId', 'integer', (c) => c.notNull().references('chipGroups.id'))
    .addColumn('family', 'text', (c) => c.notNull())
    .addColumn('keySetId', 'integer', (c) => c.references('keySets.id'))
    .addColumn('publicKey', 'text')
    .addColumn('fileReadKey', 'blob')
    .$call(required('integer', 'generation lastCounter'))
    .addColumn('simulatedCounter', 'integer', (c) => c.notNull().defaultTo(-1))
    .$call(optional('text', 'lastTapAt redirectUrl itemId variantId'))
    .addColumn('tokenRow', 'integer', (c) => c.references('tokens.id'))
    .addColumn('label', 'text')
    .addColumn('simulated', 'integer', (c) => c.notNull())
    .$call(optional('text', 'disabledAt disabledReason replacedBy'))
    .addForeignKeyConstraint('chipsItem', ['teamId', 'itemId'], 'items', ['teamId', 'id'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema.createIndex('chipsOfGroup').on('chips').columns(['chipGroupId', 'uid']).execute()
  const partial = async (name: string, columns: string[], when: string, unique: boolean) => {
    const index = db.schema
      .createIndex(name)
      .on('chips')
      .columns(columns)
      .where(sql.ref(when), 'is not', null)
    await (unique ? index.unique() : index).execute()
  }
  await partial('chipsOfToken', ['tokenRow'], 'tokenRow', false)
  await partial('chipsOfItem', ['teamId', 'itemId'], 'itemId', false)
  await partial('chipsOneOfALabel', ['teamId', 'label'], 'label', true)
  await partial('chipsOneOfAPublicKey', ['publicKey'], 'publicKey', true)
  await db.schema
    .createTable('removedChips')
    .addColumn('identity', 'text', (c) => c.primaryKey().notNull())
    .addColumn('uid', 'text', (c) => c.notNull())
    .addColumn('proof', 'text')
    .$call(required('integer', 'simulated lastCounter generation'))
    .addColumn('removedAt', 'text', (c) => c.notNull())
    .modifyEnd(strictClustered)
    .execute()
  await db.schema.createIndex('removedChipsOfUid').on('removedChips').column('uid').execute()
}

async function events(db: Kysely<unknown>): Promise<void> {
  await ofTeam(numbered(createdAt(db.schema.createTable('guestbookEvents'))))
    .addColumn('contractId', 'integer', (c) => c.notNull().references('contracts.id'))
    .$call(required('text', 'name tokenId metadata'))
    .addUniqueConstraint('guestbookEventsOneOfAnId', ['contractId', 'tokenId'])
    .modifyEnd(strict)
    .execute()
  await createdAt(db.schema.createTable('guestbookAssignments'))
    .addColumn('chipUid', 'text', (c) => c.notNull().references('chips.uid').onDelete('cascade'))
    .addColumn('guestbookEventId', 'integer', (c) => c.notNull().references('guestbookEvents.id'))
    .addPrimaryKeyConstraint('guestbookAssignmentsKey', ['chipUid', 'guestbookEventId'])
    .modifyEnd(strictClustered)
    .execute()
  await ofTeam(numbered(createdAt(db.schema.createTable('badgeEvents'))))
    .$call(required('text', 'name description city country startDate endDate expiryDate eventUrl'))
    .$call(required('integer', 'privateEvent virtualEvent requestedCodes remainingCodes'))
    .addColumn('upstreamId', 'integer', (c) => c.notNull().unique())
    .addColumn('approval', 'text', (c) => c.notNull())
    .modifyEnd(strict)
    .execute()
  await numbered(createdAt(db.schema.createTable('badgeAssignments')))
    .addColumn('badgeEventId', 'integer', (c) => c.notNull().references('badgeEvents.id'))
    .addColumn('chipUid', 'text', (c) => c.references('chips.uid').onDelete('cascade'))
    .addColumn('tokenRow', 'integer', (c) => c.references('tokens.id'))
    .$call(optional('text', 'startsAt endsAt'))
    .$call(required('text', 'title description'))
    .addUniqueConstraint('badgeAssignmentsOneAChip', ['chipUid', 'badgeEventId'])
    .addUniqueConstraint('badgeAssignmentsOneAToken', ['tokenRow', 'badgeEventId'])
    .modifyEnd(strict)
    .execute()
}

async function taps(db: Kysely<unknown>): Promise<void> {
  // Recorded taps outlive their chips. AUTOINCREMENT would write one more page per tap.
  await db.schema
    .createTable('taps')
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('at', 'text', (c) => c.notNull())
    .addColumn('chipUid', 'text')
    .$call(optional('integer', 'teamId keySetId counter'))
    .$call(required('text', 'outcome via'))
    .modifyEnd(strict)
    .execute()
  await db.schema
    .createIndex('tapsRefused')
    .on('taps')
    .column('id')
    .where(sql.ref('outcome'), '!=', sql.lit('valid'))
    .execute()
  await db.schema.createIndex('tapsOfChip').on('taps').columns(['chipUid', 'id']).execute()
  await createdAt(db.schema.createTable('refs'))
    .addColumn('idHash', 'text', (c) => c.primaryKey().notNull())
    .$call(required('text', 'kind chipUid'))
    .addColumn('tapId', 'integer', (c) => c.notNull())
    .addColumn('expiresAt', 'text', (c) => c.notNull())
    .addColumn('queriedAt', 'text')
    .modifyEnd(strictClustered)
    .execute()
  await db.schema.createIndex('refsOfChip').on('refs').columns(['chipUid', 'expiresAt']).execute()
  await createdAt(db.schema.createTable('otps'))
    .addColumn('codeHash', 'text', (c) => c.primaryKey().notNull())
    .$call(required('text', 'type chipUid'))
    .addColumn('tapId', 'integer', (c) => c.notNull())
    .$call(optional('integer', 'tokenRow badgeEventId guestbookEventId'))
    .addColumn('expiresAt', 'text', (c) => c.notNull())
    .$call(optional('text', 'usedAt deletedAt'))
    .modifyEnd(strictClustered)
    .execute()
  await db.schema.createIndex('otpsOfChip').on('otps').columns(['chipUid', 'expiresAt']).execute()
  await db.schema
    .createTable('pageVisits')
    .addColumn('cookieHash', 'text', (c) => c.primaryKey().notNull())
    .addColumn('chipUid', 'text', (c) => c.notNull())
    .addColumn('counter', 'integer', (c) => c.notNull())
    .addColumn('refs', 'blob', (c) => c.notNull())
    .addColumn('expiresAt', 'text', (c) => c.notNull())
    .modifyEnd(strictClustered)
    .execute()
}

async function records(db: Kysely<unknown>): Promise<void> {
  await numbered(db.schema.createTable('audit'))
    .$call(required('text', 'at actor'))
    .addColumn('teamId', 'integer')
    .$call(required('text', 'action target detail'))
    .addColumn('requestId', 'text')
    .modifyEnd(strict)
    .execute()
  for (const [table, key, value] of [
    ['names', 'name', 'address'],
    ['settings', 'key', 'value'],
  ] as const) {
    await db.schema
      .createTable(table)
      .addColumn(key, 'text', (c) => c.primaryKey().notNull())
      .addColumn(value, 'text', (c) => c.notNull())
      .modifyEnd(strictClustered)
      .execute()
  }
}
