import { useEffect, useState } from 'preact/hooks'
import { type AnswerOf, type ElementOf, RequestProblem, read } from '../../api.ts'
import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Picture } from '../../parts/picture.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Time } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { useQuery, useTeam } from '../../router.tsx'
import { currentSession } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { shell } from '../../words/shell.ts'
import { Counts } from './counts.tsx'
import { questionOf } from './search.ts'
import { words } from './words.ts'

type Chip = AnswerOf<'GET /admin/chips'>['chips'][number]
type Item = ElementOf<'GET /admin/items'>

const pageSize = 100
const typingMs = 200

/** The team in the address, or the only one of the credential. */
function useOneTeam(): string | undefined {
  const chosen = useTeam()
  const { who, team } = currentSession()
  const { data } = useRead('GET /admin/teams', {})
  return chosen || who?.team || team || (data?.length === 1 ? data[0]?.name : undefined)
}

export function ChipsScreen() {
  const [q, setQ] = useQuery('q')
  const [group, setGroup] = useQuery('group')
  const [state, setState] = useQuery('state')
  const [typed, setTyped] = useState(q)
  useEffect(() => {
    if (typed === q) return
    const timer = setTimeout(() => setQ(typed), typingMs)
    return () => clearTimeout(timer)
  })
  const team = useOneTeam()
  const question = questionOf(q)
  const isSearch = Object.keys(question).length > 0
  // Labels, items and groups are unique in their team only.
  const needsTeam =
    team === undefined && ('label' in question || 'item' in question || (!isSearch && group !== ''))
  return (
    <div class="chips">
      <h1>{shell.screens.chips}</h1>
      <form class="search" onSubmit={(event) => event.preventDefault()}>
        <label class="field search-field">
          <span>{words.search}</span>
          <input
            type="search"
            value={typed}
            placeholder={words.searchExample}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
      </form>
      <Counts team={team} group={group} setGroup={setGroup} state={state} setState={setState} />
      {needsTeam ? (
        <Empty title={words.chooseTeam}>{words.chooseTeamWhy}</Empty>
      ) : (
        <ChipList
          key={`${q} ${group} ${state} ${team}`}
          team={team}
          query={{
            ...(isSearch ? question : { chipGroup: group || undefined }),
            ...(state === '' ? {} : { state }),
          }}
          isFiltered={isSearch || group !== '' || state !== ''}
        />
      )}
    </div>
  )
}

interface ListProps {
  readonly team: string | undefined
  readonly query: Readonly<Record<string, unknown>>
  readonly isFiltered: boolean
}

function ChipList({ team, query, isFiltered }: ListProps) {
  const [chips, setChips] = useState<readonly Chip[]>([])
  const [next, setNext] = useState<string | null>()
  const [problem, setProblem] = useState<RequestProblem>()
  const [isReading, setReading] = useState(false)
  const { data: items } = useRead('GET /admin/items', team === undefined ? undefined : { query: { team } })
  const more = async () => {
    if (isReading || next === null || problem) return
    setReading(true)
    try {
      const page = await read('GET /admin/chips', { query: { ...query, team, after: next, limit: pageSize } })
      setChips((before) => [...before, ...page.chips])
      setNext(page.next)
    } catch (error) {
      if (!(error instanceof RequestProblem)) throw error
      setProblem(error)
    } finally {
      setReading(false)
    }
  }
  // A page may be empty though there are more: chips in a state are looked for a part at a time.
  useEffect(() => {
    if (chips.length < 20) void more()
  }, [next])
  if (problem) return <Problem problem={problem} onRetry={() => setProblem(undefined)} />
  if (chips.length === 0 && next !== null)
    return next === undefined ? (
      <Loading />
    ) : (
      <p class="quiet" aria-live="polite">
        {words.lookingOn}
      </p>
    )
  if (chips.length === 0)
    return isFiltered ? (
      <Empty title={words.noneFound}>{words.noneFoundWhy}</Empty>
    ) : (
      <Empty title={words.none}>
        <code>tapchip chips import --file chips.csv --chip-group NAME --key-set ID</code>
      </Empty>
    )
  const itemOf = new Map(items?.map((item) => [item.id, item]))
  return (
    <Panel title={shell.screens.chips} className="chips-list">
      <VirtualTable
        label={shell.screens.chips}
        rows={chips}
        columns={columnsOf(itemOf)}
        rowKey={({ uid }) => uid}
        rowTo={({ uidHex }) => `/chips/${uidHex}`}
        onEnd={more}
      />
    </Panel>
  )
}

const columnsOf = (items: ReadonlyMap<string, Item>): readonly Column<Chip>[] => [
  {
    key: 'chip',
    title: words.chip,
    width: 3,
    cell: ({ label, uidHex, item, chipGroup }) => (
      <span class="named">
        <Picture
          url={item === null ? undefined : items.get(item)?.imageUrl}
          name={item ?? chipGroup}
          size={28}
        />
        <span>{label ?? uidHex}</span>
      </span>
    ),
  },
  {
    key: 'uid',
    title: words.fields.uid,
    width: '152px',
    from: 900,
    cell: ({ uidHex }) => <code>{uidHex}</code>,
  },
  { key: 'group', title: words.fields.group, width: 2, from: 560, cell: ({ chipGroup }) => chipGroup },
  {
    key: 'item',
    title: words.fields.item,
    width: 2,
    from: 760,
    cell: ({ item, variant }) =>
      item === null ? (
        <span class="quiet">–</span>
      ) : (
        [items.get(item)?.name ?? item, variant].filter(Boolean).join(' · ')
      ),
  },
  {
    key: 'token',
    title: words.fields.token,
    width: 1,
    from: 1080,
    cell: ({ linkedToken }) =>
      linkedToken === null ? <span class="quiet">–</span> : <span>#{linkedToken.tokenId}</span>,
  },
  { key: 'state', title: words.state, width: '128px', cell: (chip) => <State chip={chip} /> },
  {
    key: 'tapped',
    title: words.fields.lastTap,
    width: '120px',
    from: 420,
    align: 'end',
    cell: ({ lastTapAt }) => <Time at={lastTapAt} as="ago" />,
  },
]

function State({ chip }: { readonly chip: Chip }) {
  if (chip.disabledAt !== null) return <StateBadge tone="bad">{words.disabled}</StateBadge>
  if (chip.openedAt !== null) return <StateBadge tone="warn">{words.states.opened}</StateBadge>
  if (chip.isSimulated) return <StateBadge tone="quiet">{words.states.simulated}</StateBadge>
  return <StateBadge tone="good">{words.active}</StateBadge>
}
