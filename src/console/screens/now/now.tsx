import { useMemo } from 'preact/hooks'
import { useLive } from '../../live.ts'
import { usePlace, useTeam } from '../../router.tsx'
import { currentSession } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { useSampled } from '../../use-sampled.ts'
import { shell } from '../../words/shell.ts'
import { Aside } from './aside.tsx'
import { LiveTaps } from './live-taps.tsx'
import { Summary } from './summary.tsx'

const pulseRestMs = 5000
/** Hours and minutes pass without taps, too. */
const pulseEveryMs = 60_000
const sampleMs = 1000

export function NowScreen() {
  const { taps } = useLive()
  const isWall = usePlace().query.has('wall')
  const team = useTeam()
  const ofTeam = useMemo(
    () => (team === '' ? taps : taps.filter((tap) => tap.team === team || tap.team === null)),
    [taps, team],
  )
  const { data: pulse } = useRead(
    'GET /admin/taps/pulse',
    { query: { team: team || undefined } },
    { on: ['taps'], restMs: pulseRestMs, everyMs: pulseEveryMs },
  )
  const sampled = useSampled(ofTeam, sampleMs)
  // The same elements are not drawn again with each tap.
  const summary = useMemo(
    () => <Summary taps={sampled} team={team} pulse={pulse} height={isWall ? 240 : 160} />,
    [sampled, team, pulse, isWall],
  )
  const aside = useMemo(() => <Aside pulse={pulse} />, [pulse])
  return (
    <div class="now" data-wall={isWall ? '' : undefined}>
      <h1 class={isWall ? 'now-title' : 'for-readers'}>{shell.screens.now}</h1>
      {summary}
      <LiveTaps
        taps={ofTeam}
        isWall={isWall}
        withTeam={!isWall && team === '' && currentSession().who?.team === null}
      />
      {aside}
    </div>
  )
}
