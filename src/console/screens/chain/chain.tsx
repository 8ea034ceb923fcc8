import type { AnswerOf, ElementOf } from '../../api.ts'
import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import { Figure, Panel } from '../../parts/panel.tsx'
import { Plot } from '../../parts/plot.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { formatAgo, useNow } from '../../parts/time.tsx'
import { useTeam } from '../../router.tsx'
import { askEveryMs, currentSession } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { formatNumber, formatShort, locale } from '../../words/language.ts'
import { shell } from '../../words/shell.ts'
import { Transactions } from './transactions.tsx'
import { words } from './words.ts'

type Chain = ElementOf<'GET /admin/chains'>
type Stats = AnswerOf<'GET /admin/transactions/stats'>

/** The relayer's money is on the chain, where no event is. */
const everyMs = 30_000
const dayMs = 86_400_000
const daysShown = 30

const ether = new Intl.NumberFormat(locale, { maximumSignificantDigits: 4 })
const formatWei = (wei: string | null): string => (wei === null ? '–' : ether.format(Number(wei) / 1e18))
const oneDigit = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })

function formatSeconds(seconds: number): string {
  if (seconds < 90) return words.seconds(oneDigit.format(seconds))
  return seconds < 5400
    ? words.minutes(oneDigit.format(seconds / 60))
    : words.hours(oneDigit.format(seconds / 3600))
}

export function ChainScreen() {
  const team = useTeam() || undefined
  const chains = useRead('GET /admin/chains', {}, { on: ['transactions'], restMs: 5000, everyMs })
  const stats = useRead(
    'GET /admin/transactions/stats',
    { query: { team } },
    { on: ['transactions'], restMs: 2000, everyMs: askEveryMs() },
  )
  return (
    <div class="screen">
      <h1>{shell.screens.chain}</h1>
      {chains.data === undefined ? (
        chains.problem ? (
          <Problem problem={chains.problem} onRetry={chains.reload} />
        ) : (
          <Loading />
        )
      ) : chains.data.length === 0 ? (
        <Empty title={words.none}>
          <code>TAPCHIP_CHAINS</code>
        </Empty>
      ) : (
        <>
          {chains.data.map((chain) => (
            <OneChain key={chain.chainId} chain={chain} stats={stats.data} />
          ))}
          {stats.data === undefined && stats.problem ? (
            <Problem problem={stats.problem} onRetry={stats.reload} />
          ) : null}
          {stats.data?.isComplete === false ? <p class="quiet">{words.notAll}</p> : null}
          <Transactions
            stats={stats.data}
            team={team}
            withTeam={team === undefined && currentSession().who?.team === null}
          />
        </>
      )}
    </div>
  )
}

function OneChain({ chain, stats }: { readonly chain: Chain; readonly stats: Stats | undefined }) {
  const now = useNow(30_000)
  const { chainId } = chain
  const waits = stats?.waits.find((one) => one.chainId === chainId)
  const money = stats?.money.find((one) => one.chainId === chainId)
  const oldest = stats?.open.map((one) => one.oldest).sort()[0]
  const byDay = new Map(stats?.days.flatMap((one) => (one.chainId === chainId ? [[one.day, one.gas]] : [])))
  const days = Array.from({ length: daysShown }, (_, at) =>
    new Date(now - (daysShown - 1 - at) * dayMs).toISOString().slice(0, 10),
  )
  const gas = days.map((day) => byDay.get(day) ?? 0)
  const total = gas.reduce((all, one) => all + one, 0)
  return (
    <Panel
      title={words.chain(chainId)}
      aside={
        chain.isReachable && chain.trouble === null ? (
          <StateBadge tone="good">{words.reachable(formatNumber(chain.latestBlock ?? 0))}</StateBadge>
        ) : (
          <StateBadge tone="bad">{chain.trouble?.message ?? words.unreachable}</StateBadge>
        )
      }
    >
      <div class="summary panel-text">
        <dl class="figures summary-figures">
          <Figure
            label={words.open}
            value={formatShort(chain.unsettled)}
            note={chain.unsettled > 0 && oldest !== undefined ? formatAgo(oldest, now) : undefined}
          />
          <Figure
            label={words.median}
            value={waits ? formatSeconds(waits.p50) : '–'}
            note={waits ? `${words.slowest} ${formatSeconds(waits.p90)}` : undefined}
          />
          <Figure
            label={words.lasts}
            value={money?.daysLeft == null ? '–' : words.lastsDays(formatShort(Math.floor(money.daysLeft)))}
            note={
              money?.transactionsLeft == null
                ? undefined
                : words.lastsTransactions(formatShort(money.transactionsLeft))
            }
          />
        </dl>
        <div class="summary-plot">
          <Plot
            title={words.gasPerDay}
            at={days.map((day) => Date.parse(day) / 1000)}
            series={[{ label: words.chain(chainId), values: gas, color: '--accent' }]}
            summary={words.gasSummary(formatNumber(total), formatNumber(daysShown))}
          />
          <Relayers chain={chain} />
        </div>
      </div>
    </Panel>
  )
}

const Relayers = ({ chain }: { readonly chain: Chain }) => (
  <ul class="list relayers" aria-label={words.money}>
    {chain.relayers.map(({ name, address, balance, unsettled, jam }) => (
      <li key={name}>
        <span>
          {name} <code title={address}>{`${address.slice(0, 8)}…${address.slice(-4)}`}</code>
        </span>
        <span>
          {words.balance} {formatWei(balance)} · {words.unsettled} {formatNumber(unsettled)}{' '}
          <StateBadge tone={jam === null ? 'good' : 'bad'}>
            {jam === null ? words.well : words.jams[jam]}
          </StateBadge>
        </span>
      </li>
    ))}
  </ul>
)
