import type { ConsoleSession } from './requests.ts'
import { useQuery } from './router.tsx'
import { useRead } from './use-read.ts'
import { shell } from './words/shell.ts'

/** Which team is shown, for a credential that sees several. The choice is a part of the address. */
export function TeamChoice({ session }: { readonly session: ConsoleSession }) {
  const fixed = session.who?.team ?? session.team
  const [team, setTeam] = useQuery('team')
  const { data } = useRead('GET /admin/teams', fixed === null ? {} : undefined)
  if (fixed !== null) return <p class="where-team">{fixed}</p>
  if (data === undefined || data.length < 2)
    return data?.[0] ? <p class="where-team">{data[0].name}</p> : null
  return (
    <label class="where-team">
      <span class="for-readers">{shell.team}</span>
      <select value={team} onChange={({ currentTarget }) => setTeam(currentTarget.value)}>
        <option value="">{shell.allTeams}</option>
        {data.map(({ id, name }) => (
          <option key={id} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
