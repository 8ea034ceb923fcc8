import { useEffect, useState } from 'preact/hooks'
import { RequestProblem, send } from './api.ts'
import { startLive, useLive } from './live.ts'
import { Asker } from './parts/ask.tsx'
import { Empty, Loading, Problem } from './parts/empty.tsx'
import { formatClock } from './parts/time.tsx'
import type { ConsoleSession } from './requests.ts'
import { hrefTo, Link, navigate, usePlace } from './router.tsx'
import { screenAt, screens } from './screens.ts'
import { dropSecret, keepSecret, setSession } from './session.ts'
import { TeamChoice } from './team-choice.tsx'
import { shell } from './words/shell.ts'

const retryMs = 1500

/** Loads what the credential may do, again until the daemon answers. */
export function App() {
  const [session, load] = useState<ConsoleSession>()
  const [problem, setProblem] = useState<RequestProblem>()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      try {
        const known: ConsoleSession = await (await send('/session')).json()
        keepSecret()
        setSession(known)
        load(known)
        setProblem(undefined)
        if (known.who === null) timer = setTimeout(ask, retryMs)
        else void startLive()
      } catch (error) {
        if (!(error instanceof RequestProblem)) throw error
        if (error.status === 401 && dropSecret()) return ask()
        setProblem(error)
        if (error.status !== 401) timer = setTimeout(ask, retryMs)
      }
    }
    void ask()
    return () => clearTimeout(timer)
  }, [])
  if (problem) return <Notice problem={problem} />
  if (session === undefined) return <Loading />
  const { problem: why } = session
  if (why !== null) {
    const advice = why.advice ?? undefined
    return (
      <Notice
        problem={new RequestProblem({ status: 502, code: 'daemon_away', message: why.message, advice })}
      />
    )
  }
  return <Frame session={session} />
}

const Notice = ({ problem }: { readonly problem: RequestProblem }) => (
  <div class="notice">
    <main>
      <h1>Tapchip</h1>
      <Problem problem={problem} />
    </main>
  </div>
)

function Frame({ session }: { readonly session: ConsoleSession }) {
  const { path, query } = usePlace()
  const isWall = query.has('wall')
  const found = screenAt(path)
  const title = found ? shell.screens[found.screen.name] : shell.notFound
  useEffect(() => {
    document.title = `${title}${found?.id ? ` ${found.id}` : ''} · Tapchip`
  }, [title, found?.id])
  useEffect(() => {
    if (path === '/') navigate(hrefTo('/now'), 'replace')
    // Who leads here by the keyboard goes on reading at the new screen.
    document.getElementById('content')?.focus({ preventScroll: true })
  }, [path])
  const View = found?.screen.view
  return (
    <div class="frame" data-wall={isWall ? '' : undefined}>
      <a class="skip" href="#content">
        {shell.skip}
      </a>
      {!isWall && <Header session={session} current={found?.screen.under ?? found?.screen.name} />}
      <main id="content" tabIndex={-1} data-screen={found?.screen.name ?? 'none'}>
        <Away />
        {View ? (
          <View key={path} id={found?.id ?? ''} />
        ) : (
          <Empty title={shell.notFound}>
            <p>{shell.notFoundWhy}</p>
            <Link to="/now">{shell.toNow}</Link>
          </Empty>
        )}
      </main>
      <Asker />
    </div>
  )
}

function Header({
  session,
  current,
}: {
  readonly session: ConsoleSession
  readonly current: string | undefined
}) {
  const { daemon, context, isProtected, who } = session
  return (
    <header class="side">
      <p class="brand">Tapchip</p>
      <nav aria-label={shell.navigation}>
        <ul>
          {screens().flatMap(({ name, to }) =>
            to === undefined ? (
              []
            ) : (
              <li key={name}>
                <Link to={to} aria-current={name === current ? 'page' : undefined}>
                  {shell.screens[name]}
                </Link>
              </li>
            ),
          )}
        </ul>
      </nav>
      <div class="where">
        <TeamChoice session={session} />
        <p class="quiet where-line" title={daemon}>
          {context === null ? daemon.replace(/^https?:\/\//, '') : shell.context(context)}
          {isProtected ? ` · ${shell.protected}` : ''}
        </p>
        {who && <p class="quiet where-line">{shell.signedInAs(who.name)}</p>}
      </div>
    </header>
  )
}

/** Says that what is shown is old, and since when. */
function Away() {
  const { away, isGone, isCrowded } = useLive()
  return (
    <div class="banners" aria-live="polite">
      {isGone ? <p class="banner">{shell.consoleGone}</p> : null}
      {isCrowded ? <p class="banner">{shell.crowded}</p> : null}
      {away && !isGone ? (
        <p class="banner" data-away="">
          {shell.away(formatClock(away.since))} <span class="quiet">{away.message}</span>
        </p>
      ) : null}
    </div>
  )
}
