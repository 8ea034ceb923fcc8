import type { Actor } from '../../store/audit/audit.ts'
import { type AuditSeal, checkAuditHead, readAuditHead } from '../../store/audit/audit-head.ts'
import { listAudit } from '../../store/audit/audit-list.ts'
import { chipGroupsOfTeam } from '../../store/chips/chip-groups.ts'
import type { Disk, DiskState } from '../../store/data-dir/disk.ts'
import {
  DatabaseUnavailable,
  type Db,
  isShared,
  type ServerState,
  type ServerTrouble,
} from '../../store/database/database.ts'
import { latestSchema } from '../../store/database/open.ts'
import { setSetting, setting } from '../../store/database/settings.ts'
import { type Counts, countAll } from '../../store/taps/taps.ts'
import { allWebhooks, webhooksOfTeam } from '../../store/webhooks/webhooks.ts'
import { listTeams, type TeamView } from '../access/teams.ts'
import { DomainError } from '../errors/errors.ts'
import type { TapLog } from '../taps/tap-log.ts'
import { type BudgetClock, type Clock, iso } from '../time/time.ts'
import { byOperator } from '../webhooks/webhooks.ts'

export interface Status {
  uptimeSeconds: number
  /** The database was migrated to it when opened. */
  schema: string
  database: {
    engine: 'sqlite' | 'postgres'
    sizeBytes: number
    /** `ok`, or the problem; null if not checked. */
    integrity: string | null
    /** Null: the database is a file. */
    server: ServerState | null
  }
  /**
   * The last backup, by the audit log, which omits backups made by other tools. Null: never. Absent for a database server,
   * and to a caller for one team.
   */
  lastBackupAt?: string | null
  /** Teams that sent transactions today or have waiting announcements. */
  budgets: (TeamView['budget'] & { team: string })[]
  disk: {
    /** Null: the system does not report it. */
    freeBytes: number | null
    refusedWrites: number
    state: DiskState
  }
  /** Null to a caller for one team: the log is of all of them. */
  audit: {
    entries: number
    head: string
    sealedSince: string | null
    /** The last entry's ID, found and expected, if the log does not continue from what this daemon knows. */
    broken: { lastId: number; expected: number } | null
  } | null
  webhooks: {
    enabled: number
    /** Disabled by the daemon; at most 100. */
    failed: { id: number; reason: string }[]
  }
  /** `taps` is null to a caller for one team: they would have to be counted one by one. */
  counts: Omit<Counts, 'taps'> & { taps: number | null }
}

interface Deps {
  db: Db
  disk: Disk
  tapLog: TapLog
  auditSeal: AuditSeal
  clock: BudgetClock
  /** Monotonic. */
  startedAt: number
}

/**
 * @param check also verify the database's integrity, which reads all of it, so no caller for one team may have that done
 * @throws DomainError store_unavailable soon, if the database is on a server that does not answer
 */
export async function daemonStatus(
  deps: Deps,
  { ofTeam }: Pick<Actor, 'ofTeam'>,
  isChecked: boolean,
): Promise<Status> {
  const check = isChecked && ofTeam === undefined
  const { db, disk, tapLog, auditSeal, clock, startedAt } = deps
  // Checked first, because everything else would wait longer for a server that does not answer.
  const state = await (isShared(db) ? probeStore(deps) : diskState(deps))
  await tapLog.flush()
  const { maintenance } = db
  return {
    uptimeSeconds: Math.floor((clock.monotonic() - startedAt) / 1000),
    schema: latestSchema(),
    database: {
      engine: isShared(db) ? 'postgres' : 'sqlite',
      sizeBytes: await maintenance.sizeBytes(),
      integrity: check ? await maintenance.quickCheck() : null,
      server: (await maintenance.serverState?.()) ?? null,
    },
    // Backups are made by the server's own tools.
    ...(ofTeam === undefined && !isShared(db) ? { lastBackupAt: await lastBackup(db) } : {}),
    budgets: budgetsOf(await listTeams({ db, clock }, ofTeam ?? null)),
    disk: { freeBytes: (await disk.freeBytes()) ?? null, refusedWrites: disk.refusedWrites, state },
    audit: ofTeam === undefined ? await auditOf(db, auditSeal) : null,
    webhooks: await webhooksOf(db, ofTeam),
    counts: await countsOf(db, ofTeam),
  }
}

async function auditOf(db: Pick<Db, 'read'>, seal: AuditSeal): Promise<NonNullable<Status['audit']>> {
  await checkAuditHead(db.read, seal)
  const { entries, hash, sealedSince } = await readAuditHead(db.read, seal.box)
  return { entries, head: hash, sealedSince, broken: seal.broken ?? null }
}

const maxFailed = 100

async function countsOf(db: Pick<Db, 'read'>, ofTeam: number | undefined): Promise<Status['counts']> {
  const all = await countAll(db.read)
  if (ofTeam === undefined) return all
  const chips = (await chipGroupsOfTeam(db.read, ofTeam)).reduce((sum, group) => sum + group.chips, 0)
  return { teams: 1, keySets: all.keySets, chips, taps: null }
}

async function webhooksOf(db: Pick<Db, 'read'>, ofTeam: number | undefined): Promise<Status['webhooks']> {
  const all = await (ofTeam === undefined ? allWebhooks(db.read) : webhooksOfTeam(db.read, ofTeam))
  return {
    enabled: all.filter(({ disabledAt }) => disabledAt === null).length,
    failed: all
      .flatMap(({ id, disabledReason: reason }) =>
        reason === null || reason === byOperator ? [] : [{ id, reason }],
      )
      .slice(0, maxFailed),
  }
}

const lastBackup = async (db: Db): Promise<string | null> =>
  (await listAudit(db.slow, { action: 'daemon.backup', limit: 1 }))[0]?.at ?? null

const maxBudgets = 100

const budgetsOf = (teams: readonly TeamView[]): Status['budgets'] =>
  teams
    .filter(({ budget }) => budget.transactionsToday > 0 || budget.waiting > 0)
    .slice(0, maxBudgets)
    .map(({ name, budget }) => ({ team: name, ...budget }))

/** Tries a write if in doubt. @throws other errors of the store */
export const diskState = ({ db, disk, clock }: { db: Db; disk: Disk; clock: Clock }): Promise<DiskState> =>
  disk.state(() => db.write((trx) => setSetting(trx, 'lastProbe', iso(clock.now()))))

// Shorter than the time after which proxies treat a silent daemon as gone.
const probeMs = 2500

const words: Record<ServerTrouble['reason'], string> = {
  no_room: 'The database server has no room for another connection.',
  read_only: 'The database accepts no writes.',
  refused: 'The database server refuses this daemon, or is still starting.',
  silent: 'The database does not answer.',
  down: 'The database server cannot be reached.',
}

const unready = (reason: ServerTrouble['reason'], trouble?: ServerTrouble, cause?: unknown) =>
  new DomainError('store_unavailable', words[reason], {
    retryAfterSeconds: 5,
    ...(trouble && { trouble }),
    cause: cause ?? new DatabaseUnavailable(reason),
  })

/**
 * Queries like a tap, over the same kind of connection, and tries a write if in doubt.
 * @throws DomainError store_unavailable after 2.5 seconds at most
 */
export async function probeStore(deps: { db: Db; disk: Disk; clock: Clock }): Promise<DiskState> {
  const { db } = deps
  const probe = async () => {
    const trouble = await db.maintenance.serverTrouble?.(probeMs)
    if (trouble) throw unready(trouble.reason, trouble)
    if (!isShared(db))
      await setting(db.read, 'instance').catch((cause: unknown) => {
        throw unready('silent', undefined, cause)
      })
    return diskState(deps)
  }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    // A silent server is reported first.
    timer = setTimeout(() => reject(unready('silent')), probeMs + 100)
  })
  return Promise.race([probe(), late]).finally(() => clearTimeout(timer))
}
