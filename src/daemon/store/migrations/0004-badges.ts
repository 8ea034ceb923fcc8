import { type Kysely, sql } from 'kysely'
import { createdAt, numbered, ofTeam, optional, required, strict, strictClustered } from './columns.ts'

/** SQLite can drop a UNIQUE constraint only with its table, and the table only if no row refers to it. */
async function upstreamIdsPerProvider(db: Kysely<unknown>): Promise<void> {
  await ofTeam(numbered(createdAt(db.schema.createTable('badgeEventsNew'))))
    .$call(required('text', 'name description city country startDate endDate expiryDate eventUrl'))
    .$call(required('integer', 'privateEvent virtualEvent requestedCodes remainingCodes upstreamId'))
    .addColumn('approval', 'text', (c) => c.notNull())
    .addColumn('provider', 'text', (c) => c.notNull().defaultTo('embedded'))
    .addUniqueConstraint('badgeEventsUpstream', ['provider', 'upstreamId'])
    .modifyEnd(strict)
    .execute()
  const kept = sql.raw(
    ['id', 'createdAt', 'teamId', 'name', 'description', 'city', 'country', 'startDate', 'endDate']
      .concat(['expiryDate', 'eventUrl', 'privateEvent', 'virtualEvent', 'requestedCodes'])
      .concat(['remainingCodes', 'upstreamId', 'approval'])
      .map((column) => `"${column}"`)
      .join(', '),
  )
  await sql`insert into "badgeEventsNew" (${kept}) select ${kept} from "badgeEvents"`.execute(db)
  await sql`create table "badgeAssignmentsKept" as select * from "badgeAssignments"`.execute(db)
  await sql`delete from "badgeAssignments"`.execute(db)
  await db.schema.dropTable('badgeEvents').execute()
  await db.schema.alterTable('badgeEventsNew').renameTo('badgeEvents').execute()
  await sql`insert into "badgeAssignments" select * from "badgeAssignmentsKept"`.execute(db)
  await db.schema.dropTable('badgeAssignmentsKept').execute()
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await upstreamIdsPerProvider(db)
  await badges(db)
}

/** Everything after the upstream IDs, which each engine changes in its own way. */
export async function badges(db: Kysely<unknown>): Promise<void> {
  // Stored before the request to POAP, because nothing else has its secret code.
  await ofTeam(numbered(createdAt(db.schema.createTable('poapCreations'))))
    .$call(required('text', 'name fields'))
    .addColumn('secretCode', 'blob', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
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
  await db.schema.createIndex('badgeClaimsOfOtp').on('badgeClaims').column('otpHash').execute()
  await db.schema
    .createIndex('badgeClaimsOfEvent')
    .on('badgeClaims')
    .columns(['badgeEventId', 'id'])
    .execute()
  // Enforces one mint per device and event, even for concurrent requests.
  await db.schema
    .createIndex('badgeClaimsOneADevice')
    .unique()
    .on('badgeClaims')
    .columns(['badgeEventId', 'deviceHash'])
    .where(sql.ref('deviceHash'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('badgeClaimsDue')
    .on('badgeClaims')
    .column('dueAt')
    .where(sql.ref('dueAt'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('badgeClaimsOpen')
    .on('badgeClaims')
    .column('id')
    .where(sql.ref('state'), '=', 'open')
    .execute()
  await db.schema
    .createTable('badgeImages')
    .addColumn('badgeEventId', 'integer', (c) => c.primaryKey().references('badgeEvents.id'))
    .$call(required('text', 'file type'))
    .modifyEnd(strict)
    .execute()
}
