import { type Kysely, sql } from 'kysely'
import { createdAt, numbered, ofTeam, optional, required, strict, strictClustered } from '../columns.ts'

/** What each event of badges gives out, and to whom. */
export async function badges(db: Kysely<unknown>): Promise<void> {
  await atPoap(db)
  await claims(db)
  await db.schema
    .createTable('badgeImages')
    .addColumn('badgeEventId', 'integer', (c) => c.primaryKey().references('badgeEvents.id'))
    .$call(required('text', 'file type'))
    .addColumn('data', 'blob', (c) => c.notNull())
    .modifyEnd(strict)
    .execute()
  await db.schema
    .createTable('badgeContents')
    .addColumn('teamId', 'integer', (c) => c.notNull().references('teams.id').onDelete('cascade'))
    .$call(required('text', 'hash'))
    .$call(optional('integer', 'badgeEventId'))
    .addPrimaryKeyConstraint('badgeContentsKey', ['teamId', 'hash'])
    .modifyEnd(strictClustered)
    .execute()
  // By recipient first, which also finds all badges of a person.
  await db.schema
    .createTable('badgeRecipients')
    .$call(required('text', 'recipient'))
    .addColumn('badgeEventId', 'integer', (c) => c.notNull().references('badgeEvents.id'))
    .addColumn('badges', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('badgeRecipientsKey', ['recipient', 'badgeEventId'])
    .modifyEnd(strictClustered)
    .execute()
}

async function atPoap(db: Kysely<unknown>): Promise<void> {
  // Stored before the request to POAP, because nothing else has its secret code.
  await ofTeam(numbered(createdAt(db.schema.createTable('poapCreations'))))
    .$call(required('text', 'name fields'))
    .addColumn('secretCode', 'blob', (c) => c.notNull())
    .$call(optional('text', 'keyScope key'))
    .modifyEnd(strict)
    .execute()
  await db.schema
    .createIndex('poapCreationsOfKey')
    .on('poapCreations')
    .columns(['keyScope', 'key'])
    .where(sql.ref('key'), 'is not', null)
    .execute()
  await db.schema
    .createTable('poapEvents')
    .addColumn('badgeEventId', 'integer', (c) => c.primaryKey().references('badgeEvents.id'))
    .addColumn('secretCode', 'blob', (c) => c.notNull())
    .addColumn('pollAt', 'text')
    .addColumn('polls', 'integer', (c) => c.notNull())
    .addColumn('pollUntil', 'text')
    .addColumn('imageUrl', 'text', (c) => c.notNull().defaultTo(''))
    .modifyEnd(strict)
    .execute()
  await db.schema
    .createTable('badgeCodes')
    .addColumn('badgeEventId', 'integer', (c) => c.notNull().references('badgeEvents.id'))
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('code', 'blob', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('turn', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('badgeCodesKey', ['badgeEventId', 'number'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createIndex('badgeCodesFree')
    .on('badgeCodes')
    .columns(['badgeEventId', 'turn', 'number'])
    .where(sql.ref('state'), '=', 'free')
    .execute()
}

async function claims(db: Kysely<unknown>): Promise<void> {
  await numbered(createdAt(db.schema.createTable('badgeClaims')))
    .addColumn('badgeEventId', 'integer', (c) => c.notNull().references('badgeEvents.id'))
    .addColumn('codeNumber', 'integer')
    .$call(required('text', 'otpHash chipUid recipient'))
    .addColumn('deviceHash', 'text')
    .addColumn('state', 'text', (c) => c.notNull())
    .$call(required('integer', 'attempts isSent'))
    .$call(optional('text', 'dueAt reason'))
    .addColumn('isAnswered', 'integer', (c) => c.notNull())
    .$call(optional('text', 'transactionState transactionHash claimedAt'))
    .modifyEnd(strict)
    .execute()
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('badgeClaims').columns(columns)
  await index('badgeClaimsOfOtp', ['otpHash']).execute()
  await index('badgeClaimsOfEvent', ['badgeEventId', 'id']).execute()
  await index('badgeClaimsOfChip', ['chipUid', 'badgeEventId']).execute()
  await index('badgeClaimsOfRecipient', ['recipient', 'id'])
    .where(sql.ref('codeNumber'), 'is', null)
    .execute()
  // Enforces one mint per device and event, even for concurrent requests.
  await index('badgeClaimsOneADevice', ['badgeEventId', 'deviceHash'])
    .unique()
    .where(sql.ref('deviceHash'), 'is not', null)
    .execute()
  await index('badgeClaimsDue', ['dueAt']).where(sql.ref('dueAt'), 'is not', null).execute()
  await index('badgeClaimsOpen', ['id']).where(sql.ref('state'), '=', 'open').execute()
}
