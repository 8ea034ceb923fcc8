import { useRead } from '../../use-read.ts'
import { formatNumber, formatShort } from '../../words/language.ts'
import { words } from './words.ts'

const shownStates = ['linked', 'tapped', 'untapped', 'unconfigured', 'opened', 'disabled'] as const
const maxGroups = 200

interface CountsProps {
  readonly team: string | undefined
  readonly group: string
  readonly setGroup: (group: string) => void
  readonly state: string
  readonly setState: (state: string) => void
}

/** Counts by state and group; a press shows those chips alone. */
export function Counts({ team, group, setGroup, state, setState }: CountsProps) {
  const of = group === '' || team === undefined ? {} : { chipGroup: group }
  const { data } = useRead(
    'GET /admin/chips/stats',
    { query: { team, limit: maxGroups, ...of } },
    { on: ['chips'], restMs: 5000, everyMs: 60_000 },
  )
  const all = useRead(
    'GET /admin/chips/stats',
    { query: { team, limit: maxGroups } },
    { on: ['chips'], restMs: 5000, everyMs: 60_000 },
  )
  if (data === undefined) return null
  const counts = new Map(data.states.map(({ state, chips }) => [state, chips]))
  const groups = all.data?.groups ?? []
  return (
    <div class="chips-counts">
      <fieldset class="choices">
        <legend class="for-readers">{words.state}</legend>
        <Choice label={words.all} count={data.chips} isChosen={state === ''} onChoose={() => setState('')} />
        {shownStates.map((name) => (
          <Choice
            key={name}
            label={words.states[name]}
            count={counts.get(name) ?? 0}
            isChosen={state === name}
            onChoose={() => setState(state === name ? '' : name)}
          />
        ))}
      </fieldset>
      {groups.length > 1 && team !== undefined ? (
        <label class="field">
          <span class="for-readers">{words.fields.group}</span>
          <select value={group} onChange={({ currentTarget }) => setGroup(currentTarget.value)}>
            <option value="">{words.allGroups}</option>
            {groups.map(({ id, chipGroup, chips }) => (
              <option key={id} value={chipGroup}>
                {chipGroup} ({formatNumber(chips)})
              </option>
            ))}
          </select>
        </label>
      ) : null}
      {data.isCounting ? <p class="quiet">{words.counting}</p> : null}
    </div>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly count: number
  readonly isChosen: boolean
  readonly onChoose: () => void
}

const Choice = ({ label, count, isChosen, onChoose }: ChoiceProps) => (
  <button type="button" class="choice" aria-pressed={isChosen} onClick={onChoose}>
    <span class="choice-count">{formatShort(count)}</span>
    <span>{label}</span>
  </button>
)
