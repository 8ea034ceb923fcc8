import { uidToHex } from '../../../nfc/uid.ts'
import type { AnswerOf } from '../../api.ts'
import { Panel, Ranking } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Time } from '../../parts/time.tsx'
import { Link } from '../../router.tsx'
import { formatNumber } from '../../words/language.ts'
import { words } from './words.ts'

type Pulse = AnswerOf<'GET /admin/taps/pulse'>

const maxShown = 6

/** Beside the stream of taps: attacks, opened pieces, and what is tapped most. */
export function Aside({ pulse }: { readonly pulse: Pulse | undefined }) {
  if (pulse === undefined) return <aside class="now-aside" />
  const { groups, items, attacks, opened } = pulse
  return (
    <aside class="now-aside">
      <Attacks attacks={attacks} />
      <Opened opened={opened} />
      <Top
        title={words.groups}
        rows={groups.map(({ chipGroup, team, taps }) => ({
          name: chipGroup ?? words.withoutGroup,
          team,
          taps,
        }))}
      />
      <Top
        title={words.items}
        rows={items.map(({ item, itemName, team, taps }) => ({ name: itemName ?? item, team, taps }))}
      />
    </aside>
  )
}

interface Tapped {
  readonly name: string
  readonly team: string | null
  readonly taps: number
}

function Top({ title, rows }: { readonly title: string; readonly rows: readonly Tapped[] }) {
  if (rows.length === 0) return null
  return (
    <Panel title={title} aside={<span class="quiet">{words.lastDay}</span>}>
      <Ranking
        rows={rows.slice(0, maxShown).map(({ name, team, taps }) => ({
          key: `${team} ${name}`,
          label: name,
          value: taps,
          shown: formatNumber(taps),
        }))}
      />
    </Panel>
  )
}

const ChipLink = ({ uid, label }: { readonly uid: string; readonly label: string | null }) => (
  <Link to={`/chips/${uidToHex(uid)}`}>{label ?? uidToHex(uid)}</Link>
)

const isExplained = (outcome: string): outcome is keyof typeof words.why => outcome in words.why

function Attacks({ attacks }: Pick<Pulse, 'attacks'>) {
  return (
    <Panel title={words.suspicious}>
      {attacks.length === 0 ? (
        <p class="quiet panel-text">{words.noneSuspicious}</p>
      ) : (
        <ul class="list">
          {attacks.slice(0, maxShown).map(({ outcome, uid, label, keySet, taps, last }) => (
            <li key={`${outcome} ${uid} ${keySet}`}>
              <StateBadge tone="bad">
                {words.why[isExplained(outcome) ? outcome : 'other'](formatNumber(taps))}
              </StateBadge>
              <span class="quiet">
                {uid === null ? words.ofKeySet(String(keySet ?? '')) : <ChipLink uid={uid} label={label} />}{' '}
                <Time at={last} as="clock" />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Opened({ opened }: Pick<Pulse, 'opened'>) {
  return (
    <Panel title={words.opened}>
      {opened.length === 0 ? (
        <p class="quiet panel-text">{words.noneOpened}</p>
      ) : (
        <ul class="list">
          {opened.slice(0, maxShown).map(({ uid, label, item, itemName, chipGroup, at }) => (
            <li key={uid}>
              <ChipLink uid={uid} label={label} />
              <span class="quiet">
                {itemName ?? item ?? chipGroup} · <Time at={at} as="ago" />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
