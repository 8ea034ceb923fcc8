import { useEffect, useState } from 'preact/hooks'
import { RequestProblem, send } from '../../api.ts'
import { Problem } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Time } from '../../parts/time.tsx'
import { type Diagnosis, diagnosisPath } from '../../requests.ts'
import { formatNumber } from '../../words/language.ts'
import { words } from './words.ts'

const tones = { fail: 'bad', warn: 'warn', ok: 'good' } as const

/** Worst first. */
export function Findings() {
  const [count, setCount] = useState(0)
  const [found, setFound] = useState<Diagnosis>()
  const [problem, setProblem] = useState<RequestProblem>()
  const [isRunning, setRunning] = useState(true)
  useEffect(() => {
    const ended = new AbortController()
    const run = async () => {
      setRunning(true)
      try {
        const diagnosis: Diagnosis = await (await send(diagnosisPath, { signal: ended.signal })).json()
        setFound(diagnosis)
        setProblem(undefined)
      } catch (error) {
        if (ended.signal.aborted) return
        if (!(error instanceof RequestProblem)) throw error
        setProblem(error)
      }
      setRunning(false)
    }
    void run()
    return () => ended.abort()
  }, [count])
  const again = () => setCount((n) => n + 1)
  return (
    <Panel
      title={words.findings}
      className="daemon-findings"
      aside={
        <span class="daemon-checked">
          {isRunning ? (
            <span class="quiet" role="status">
              {words.checking}
            </span>
          ) : (
            found && (
              <span class="quiet">
                <Time at={found.at} as="ago" />
              </span>
            )
          )}
          <button type="button" class="button small" onClick={again} disabled={isRunning}>
            {words.again}
          </button>
        </span>
      }
    >
      {problem && <Problem problem={problem} onRetry={again} />}
      {found && <List findings={found.findings} />}
      <p class="panel-text quiet">{words.quick}</p>
    </Panel>
  )
}

/** Checks that passed take a press to be seen, so that the others stand out. */
function List({ findings }: Pick<Diagnosis, 'findings'>) {
  const of = (status: Finding['status']) => findings.filter((one) => one.status === status)
  const fine = of('ok')
  return (
    <>
      <Rows findings={[...of('fail'), ...of('warn')]} />
      <details class="findings-fine">
        <summary>
          <StateBadge tone="good">{words.fine(formatNumber(fine.length))}</StateBadge>
        </summary>
        <Rows findings={fine} />
      </details>
    </>
  )
}

type Finding = Diagnosis['findings'][number]

const Rows = ({ findings }: Pick<Diagnosis, 'findings'>) => (
  <ul class="findings">
    {findings.map(({ check, status, detail, fix }, index) => (
      <li key={`${check} ${index}`} data-status={status}>
        <StateBadge tone={tones[status]}>{words.found[status]}</StateBadge>
        <div class="finding">
          <p class="finding-check">{check}</p>
          <p class="quiet">{detail}</p>
          {fix !== null && (
            <p>
              {words.fix}: {fix}
            </p>
          )}
        </div>
      </li>
    ))}
  </ul>
)
