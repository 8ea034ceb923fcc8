import type { AnswerOf } from '../../api.ts'
import { Empty, WhenRead } from '../../parts/empty.tsx'
import { Fact, Figure, Panel } from '../../parts/panel.tsx'
import { Time } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { currentSession, may } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { formatNumber, locale } from '../../words/language.ts'
import { shell } from '../../words/shell.ts'
import { AuditLog } from './audit.tsx'
import { Findings } from './findings.tsx'
import { words } from './words.ts'

type Status = AnswerOf<'GET /admin/status'>
type Server = NonNullable<Status['database']['server']>

const everyMs = 15_000

export function DaemonScreen() {
  const status = useRead('GET /admin/status', {}, { everyMs })
  const { data } = status
  return (
    <div class="daemon">
      <h1>{shell.screens.daemon}</h1>
      <WhenRead of={status}>{(data) => <Figures status={data} />}</WhenRead>
      <div class="daemon-columns">
        <Findings />
        {data && <Details status={data} />}
      </div>
      {may('GET /admin/audit') && <AuditLog />}
    </div>
  )
}

const sizes = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'] as const

/** 12.4 GB. */
function formatBytes(bytes: number): string {
  const step = Math.min(sizes.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  const unit = sizes[step] ?? 'byte'
  return new Intl.NumberFormat(locale, { style: 'unit', unit, maximumFractionDigits: 1 }).format(
    bytes / 1000 ** step,
  )
}

function formatSpan(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  return hours >= 24
    ? words.days(formatNumber(Math.floor(hours / 24)), formatNumber(hours % 24))
    : words.hours(formatNumber(hours), formatNumber(minutes % 60))
}

function Figures({ status }: { readonly status: Status }) {
  const { disk, database, lastBackupAt, version, schema, uptimeSeconds } = status
  const { version: own } = currentSession()
  const diskNote = [
    words.diskStates[disk.state],
    ...(disk.refusedWrites > 0 ? [words.refused(formatNumber(disk.refusedWrites))] : []),
  ].join(', ')
  const noBackup = database.engine === 'postgres' ? words.serverBackup : words.otherTeams
  return (
    <dl class="daemon-figures">
      <Figure
        label={words.parts.disk}
        value={disk.freeBytes === null ? shell.unknown : formatBytes(disk.freeBytes)}
        note={diskNote}
      />
      <Figure
        label={words.parts.database}
        value={formatBytes(database.sizeBytes)}
        note={database.server ? `PostgreSQL ${database.server.version}` : words.engines[database.engine]}
      />
      <Figure
        label={words.parts.backup}
        value={lastBackupAt === undefined ? '–' : <Time at={lastBackupAt} as="ago" />}
        note={lastBackupAt === undefined ? noBackup : words.backupBy}
      />
      <Figure
        label={words.parts.version}
        value={version}
        note={version === own ? words.schema(schema) : words.consoleVersion(own)}
      />
      <Figure label={words.parts.up} value={formatSpan(uptimeSeconds)} />
    </dl>
  )
}

function Details({ status }: { readonly status: Status }) {
  const { fields } = words
  const { counts, audit, upgrade, warnings, database } = status
  return (
    <Panel title={words.details}>
      <dl class="facts">
        <Fact name={fields.url}>{status.url}</Fact>
        <Fact name={fields.admin}>{status.admin}</Fact>
        <Fact name={fields.dataDir}>{status.dataDir}</Fact>
        <Fact name={fields.counts}>
          {words.counts(
            formatNumber(counts.teams),
            formatNumber(counts.chips),
            counts.taps === null ? '–' : formatNumber(counts.taps),
          )}
        </Fact>
        {audit && (
          <Fact name={fields.audit}>
            {words.entries(formatNumber(audit.entries))}
            {audit.broken && <span class="problem-line"> {words.broken}</span>}
          </Fact>
        )}
        {upgrade && <Fact name={fields.upgrade}>{words.upgrade(upgrade.from, upgrade.to)}</Fact>}
        {database.server && <ServerFacts server={database.server} />}
      </dl>
      {database.server && <Standbys server={database.server} />}
      {warnings.length > 0 && (
        <div class="panel-text">
          <h3>{words.warnings}</h3>
          <ul class="daemon-warnings">
            {warnings.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </div>
      )}
    </Panel>
  )
}

function ServerFacts({ server }: { readonly server: Server }) {
  const { fields } = words
  const sum = (of: 'inUse' | 'waiting' | 'max') =>
    formatNumber(server.pools.reduce((all, pool) => all + pool[of], 0))
  return (
    <>
      <Fact name={fields.server}>{server.name}</Fact>
      <Fact name={fields.latency}>{formatNumber(server.latencyMs)} ms</Fact>
      <Fact name={fields.connections}>{words.connections(sum('inUse'), sum('max'), sum('waiting'))}</Fact>
    </>
  )
}

const standbyColumns: readonly Column<Server['standbys'][number]>[] = [
  { key: 'name', title: words.standby, cell: ({ name }) => name },
  { key: 'sync', title: words.sync, cell: ({ syncState }) => syncState },
  {
    key: 'lag',
    title: words.lag,
    align: 'end',
    cell: ({ lagSeconds, lagBytes }) =>
      lagSeconds === null && lagBytes === null
        ? shell.unknown
        : `${lagSeconds === null ? '' : `${formatNumber(lagSeconds)} s`} ${lagBytes === null ? '' : formatBytes(lagBytes)}`.trim(),
  },
]

function Standbys({ server }: { readonly server: Server }) {
  return server.standbys.length === 0 ? (
    <Empty title={words.standbys}>{words.noStandbys}</Empty>
  ) : (
    <VirtualTable
      label={words.standbys}
      rows={server.standbys}
      columns={standbyColumns}
      rowKey={({ name }) => name}
      maxHeight={240}
    />
  )
}
