import { useState } from 'preact/hooks'
import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useTeam } from '../../router.tsx'
import { currentSession } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { shell } from '../../words/shell.ts'
import { draftOf, type Team } from './brand.ts'
import { BrandForm } from './form.tsx'
import { Phones } from './phones.tsx'
import { words } from './words.ts'

export function LookScreen() {
  const teams = useRead('GET /admin/teams', {})
  const chosen = useTeam()
  const { who, team: preset } = currentSession()
  const { data, problem } = teams
  if (data === undefined) return problem ? <Problem problem={problem} onRetry={teams.reload} /> : <Loading />
  const name = chosen || who?.team || preset
  const [first, ...others] = data
  const team = name ? data.find((one) => one.name === name) : others.length === 0 ? first : undefined
  return (
    <div class="look">
      <h1>{team === undefined ? shell.screens.look : `${shell.screens.look}: ${team.name}`}</h1>
      {team !== undefined ? (
        <TeamLook key={team.id} team={team} onSaved={teams.reload} />
      ) : first === undefined ? (
        <Empty title={words.noTeam}>
          <code>tapchip teams create NAME</code>
        </Empty>
      ) : (
        <Empty title={words.chooseTeam}>{words.chooseTeamWhy}</Empty>
      )}
    </div>
  )
}

function TeamLook({ team, onSaved }: { readonly team: Team; readonly onSaved: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(team.brand))
  return (
    <div class="look-columns">
      <Panel title={words.brand}>
        <BrandForm team={team} draft={draft} setDraft={setDraft} onSaved={onSaved} />
      </Panel>
      <Phones team={team} draft={draft} />
    </div>
  )
}
