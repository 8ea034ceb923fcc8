import { useEffect, useRef, useState } from 'preact/hooks'
import { type ElementOf, RequestProblem, read } from '../../api.ts'
import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import { Fact, Panel } from '../../parts/panel.tsx'
import { Time } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { useQuery, useTeam } from '../../router.tsx'
import { words } from './words.ts'

type Entry = ElementOf<'GET /admin/audit'>

const pageSize = 100
const typingMs = 250
const filters = ['action', 'by', 'uid', 'batch'] as const

/** Who changed what, searched by what the daemon has an index for. */
export function AuditLog() {
  const team = useTeam()
  const [action] = useQuery('action')
  const [by] = useQuery('by')
  const [uid] = useQuery('uid')
  const [batch] = useQuery('batch')
  const [since, setSince] = useQuery('since')
  // A day begins where the browser is.
  const from = /^\d{4}-\d\d-\d\d$/.test(since) ? new Date(`${since}T00:00`).toISOString() : undefined
  const query = { team, action, by, uid, batch, since: from }
  const isFiltered = [action, by, uid, batch, since].some((one) => one !== '')
  return (
    <Panel title={words.audit} className="audit">
      <form class="audit-search" onSubmit={(event) => event.preventDefault()}>
        {filters.map((name) => (
          <Filter key={name} name={name} />
        ))}
        <label class="field">
          {words.search.since}
          <input type="date" value={since} onInput={({ currentTarget }) => setSince(currentTarget.value)} />
        </label>
      </form>
      <Entries key={JSON.stringify(query)} query={query} isFiltered={isFiltered} />
    </Panel>
  )
}

/** Part of the address once typing pauses. */
function Filter({ name }: { readonly name: (typeof filters)[number] }) {
  const [value, setValue] = useQuery(name)
  const [typed, setTyped] = useState(value)
  useEffect(() => {
    if (typed.trim() === value) return
    const timer = setTimeout(() => setValue(typed.trim()), typingMs)
    return () => clearTimeout(timer)
  })
  return (
    <label class="field">
      {words.search[name]}
      <input
        name={name}
        autocomplete="off"
        spellcheck={false}
        placeholder={words.examples[name]}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </label>
  )
}

interface EntriesProps {
  readonly query: Readonly<Record<string, string | undefined>>
  readonly isFiltered: boolean
}

function Entries({ query, isFiltered }: EntriesProps) {
  const [entries, setEntries] = useState<readonly Entry[]>()
  const [isAll, setAll] = useState(false)
  const [problem, setProblem] = useState<RequestProblem>()
  const [shown, setShown] = useState<Entry>()
  const reading = useRef(false)
  const more = async () => {
    if (reading.current || isAll || problem) return
    reading.current = true
    try {
      const page = await read('GET /admin/audit', {
        query: { ...query, before: entries?.at(-1)?.id, limit: pageSize },
      })
      setEntries((before = []) => [...before, ...page])
      setAll(page.length < pageSize)
    } catch (error) {
      if (!(error instanceof RequestProblem)) throw error
      setProblem(error)
    } finally {
      reading.current = false
    }
  }
  useEffect(() => {
    if (problem === undefined) void more()
  }, [problem])
  if (problem) return <Problem problem={problem} onRetry={() => setProblem(undefined)} />
  if (entries === undefined) return <Loading />
  if (entries.length === 0)
    return isFiltered ? (
      <Empty title={words.noneFound}>{words.noneFoundWhy}</Empty>
    ) : (
      <Empty title={words.noEntries}>{words.noEntriesWhy}</Empty>
    )
  return (
    <>
      <VirtualTable
        label={words.audit}
        rows={entries}
        columns={columnsOf(setShown)}
        rowKey={({ id }) => id}
        onEnd={more}
        maxHeight={560}
      />
      {shown && <EntryDialog entry={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

const columnsOf = (show: (entry: Entry) => void): readonly Column<Entry>[] => [
  {
    key: 'action',
    title: words.columns.action,
    width: 3,
    cell: (entry) => (
      <button
        type="button"
        class="audit-show"
        aria-label={`${entry.action}: ${words.show(String(entry.id))}`}
        onClick={() => show(entry)}
      >
        {entry.action}
      </button>
    ),
  },
  { key: 'target', title: words.columns.target, width: 2, cell: ({ target }) => target },
  { key: 'by', title: words.columns.by, width: 2, from: 480, cell: ({ actor }) => actor },
  { key: 'team', title: words.columns.team, width: 1, from: 900, cell: ({ team }) => team ?? '–' },
  { key: 'batch', title: words.columns.batch, width: 1, from: 1100, cell: ({ batch }) => batch ?? '–' },
  {
    key: 'at',
    title: words.columns.at,
    width: '104px',
    align: 'end',
    cell: ({ at }) => <Time at={at} as="ago" />,
  },
]

/** Of a batch of five thousand rows, this much is shown. */
const maxDetail = 20_000

function EntryDialog({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const { columns } = words
  const detail = JSON.stringify(entry.detail, null, 2)
  return (
    <dialog ref={dialog} class="audit-entry" aria-labelledby="audit-entry" onClose={onClose}>
      <h2 id="audit-entry">{words.entry(String(entry.id))}</h2>
      <dl class="facts">
        <Fact name={columns.action}>{entry.action}</Fact>
        <Fact name={columns.target}>{entry.target}</Fact>
        <Fact name={columns.by}>{entry.actor}</Fact>
        <Fact name={columns.at}>
          <Time at={entry.at} />
        </Fact>
        {entry.team !== null && <Fact name={columns.team}>{entry.team}</Fact>}
        {entry.batch !== null && <Fact name={columns.batch}>{entry.batch}</Fact>}
        {entry.requestId !== null && (
          <Fact name={words.request}>
            <code>{entry.requestId}</code>
          </Fact>
        )}
        <Fact name={words.detail}>
          <pre>{detail.length > maxDetail ? `${detail.slice(0, maxDetail)}…` : detail}</pre>
        </Fact>
      </dl>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          {words.close}
        </button>
      </div>
    </dialog>
  )
}
