import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { pageLanguages } from '../../../values/page-languages.ts'
import { RequestProblem, send } from '../../api.ts'
import { Problem } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { type Preview, previewPath } from '../../requests.ts'
import { useQuery } from '../../router.tsx'
import { useRead } from '../../use-read.ts'
import { language as ownLanguage } from '../../words/language.ts'
import { type Draft, fields, isUnreadable, lowContrast, type Team, triedLook } from './brand.ts'
import { stateNames, words } from './words.ts'

const typingMs = 250
const schemes = ['light', 'dark'] as const
const firstState = 'everything'

/** `two-taps-ready` to be read. */
const shownState = (state: string): string =>
  stateNames[state] ?? state.charAt(0).toUpperCase() + state.slice(1).replaceAll('-', ' ')

interface PhonesProps {
  readonly team: Team
  readonly draft: Draft
}

/** The tap page as the team's chips show it, by day and by night, with what is typed but not saved. */
export function Phones({ team, draft }: PhonesProps) {
  const [language, setLanguage] = useQuery('language')
  const [state, setState] = useQuery('state')
  const [item, setItem] = useQuery('item')
  const items = useRead('GET /admin/items', { query: { team: team.name } })
  const all = useRead('GET /admin/pages/preview', { query: { team: team.name } })
  const [problem, setProblem] = useState<RequestProblem>()
  const shown = state || firstState
  const states = all.data?.map((one) => one.state) ?? [shown]
  const step = (by: number) => {
    const to = states[(states.indexOf(shown) + by + states.length) % states.length]
    if (to !== undefined) setState(to)
  }
  // The last look stays where the daemon would refuse this one.
  const isRefused = lowContrast(draft) !== undefined || fields.some((field) => isUnreadable(draft, field))
  const query = {
    team: team.name,
    state: shown,
    language: language || ownLanguage,
    ...(item === '' ? {} : { item }),
    ...triedLook(team.brand, draft),
  }
  return (
    <Panel title={words.preview} className="look-preview">
      <div class="look-choices">
        <Choice
          label={words.state}
          value={shown}
          onChoose={setState}
          options={states.map((one) => [one, shownState(one)])}
        >
          <button type="button" class="button" aria-label={words.previous} onClick={() => step(-1)}>
            ‹
          </button>
          <button type="button" class="button" aria-label={words.next} onClick={() => step(1)}>
            ›
          </button>
        </Choice>
        <Choice
          label={words.language}
          value={query.language}
          onChoose={setLanguage}
          options={pageLanguages.map((one) => [one, words.languages[one]])}
        />
        {items.data !== undefined && items.data.length > 0 && (
          <Choice
            label={words.item}
            value={item}
            onChoose={setItem}
            options={[['', words.sample], ...items.data.map(({ id, name }) => [id, name] as const)]}
          />
        )}
      </div>
      {problem && <Problem problem={problem} />}
      <div class="phones">
        {schemes.map((scheme) => (
          <Phone
            key={scheme}
            scheme={scheme}
            onProblem={setProblem}
            query={isRefused ? undefined : { ...query, scheme }}
            state={shown}
          />
        ))}
      </div>
    </Panel>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [string, string])[]
  readonly onChoose: (value: string) => void
  readonly children?: ComponentChildren
}

const Choice = ({ label, value, options, onChoose, children }: ChoiceProps) => (
  <div class="look-choice">
    <label class="field">
      {label}
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
    {children}
  </div>
)

interface PhoneProps {
  readonly scheme: (typeof schemes)[number]
  readonly state: string
  /** Undefined: what is shown stays. */
  readonly query: Readonly<Record<string, string>> | undefined
  /** Undefined: there is none any more. */
  readonly onProblem: (problem: RequestProblem | undefined) => void
}

function Phone({ scheme, state, query, onProblem }: PhoneProps) {
  const preview = usePreview(query, onProblem)
  // The page before stays until the next one is there, so that typing does not flicker.
  const [loaded, setLoaded] = useState<string>()
  const paths = [...new Set([loaded, preview?.path])].flatMap((path) => path ?? [])
  return (
    <figure class="phone" data-scheme={scheme}>
      <figcaption class="quiet">
        {words[scheme]}
        {preview && preview.status !== 200 ? ` · HTTP ${preview.status}` : ''}
      </figcaption>
      <div class="phone-glass">
        {paths.map((path) => (
          <iframe
            key={path}
            src={path}
            sandbox=""
            title={words.frame(words[scheme], shownState(state))}
            data-waits={loaded !== undefined && path !== loaded ? '' : undefined}
            onLoad={() => setLoaded(path)}
          />
        ))}
      </div>
    </figure>
  )
}

/** Once typing pauses; the last one stays until then, and while there is a problem. */
function usePreview(query: PhoneProps['query'], onProblem: PhoneProps['onProblem']): Preview | undefined {
  const [shown, setShown] = useState<Preview>()
  const asText = query && new URLSearchParams(query).toString()
  useEffect(() => {
    if (asText === undefined) return onProblem(undefined)
    const ended = new AbortController()
    const load = async () => {
      try {
        const answer = await send(`${previewPath}?${asText}`, { signal: ended.signal })
        setShown(await answer.json())
        onProblem(undefined)
      } catch (error) {
        if (ended.signal.aborted) return
        if (!(error instanceof RequestProblem)) throw error
        onProblem(error)
      }
    }
    const timer = setTimeout(load, shown === undefined ? 0 : typingMs)
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [asText])
  return shown
}
