import { neededContrast } from '../../../values/brand.ts'
import { parseColor } from '../../../values/contrast.ts'
import { act } from '../../api.ts'
import { ask } from '../../parts/ask.tsx'
import { may } from '../../session.ts'
import { formatNumber } from '../../words/language.ts'
import {
  changesOf,
  type Draft,
  draftOf,
  type Field,
  fields,
  isUnreadable,
  lowContrast,
  type Team,
} from './brand.ts'
import { words } from './words.ts'

const saves = 'PATCH /admin/teams/:id'

interface FormProps {
  readonly team: Team
  readonly draft: Draft
  readonly setDraft: (draft: Draft) => void
  readonly onSaved: () => void
}

export function BrandForm({ team, draft, setDraft, onSaved }: FormProps) {
  const { id, name, brand } = team
  const changes = changesOf(brand, draft)
  const isChanged = Object.keys(changes).length > 0
  const low = lowContrast(draft)
  const save = () =>
    ask({
      title: words.saveAsk(name),
      children: (
        <>
          <p>{words.saveWhy}</p>
          <ul class="look-changes">
            {fields.map((field) =>
              changes[field] === undefined ? null : (
                <li key={field}>
                  {words.fields[field]}: <del>{brand[field] ?? words.own}</del> →{' '}
                  <ins>{changes[field] ?? words.own}</ins>
                </li>
              ),
            )}
          </ul>
        </>
      ),
      button: words.save,
      team: name,
      run: async (confirmed) => {
        const saved = await act(saves, { params: { id }, body: { brand: changes } }, confirmed)
        setDraft(draftOf(saved.brand))
        onSaved()
      },
    })
  return (
    <form
      class="look-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged) save()
      }}
    >
      {fields.map((field) => (
        <BrandField key={field} field={field} draft={draft} setDraft={setDraft} />
      ))}
      {low && (
        <div class="look-refusal" role="alert">
          <p>{words.lowContrast(formatNumber(low.has), formatNumber(neededContrast))}</p>
          <button type="button" class="button" onClick={() => setDraft({ ...draft, color: low.nearest })}>
            <Swatch color={low.nearest} />
            {words.take(low.nearest)}
          </button>
        </div>
      )}
      {may(saves) && (
        <div class="look-buttons">
          <button type="submit" class="button primary" disabled={!isChanged}>
            {words.save}
          </button>
          {isChanged && (
            <button type="button" class="button" onClick={() => setDraft(draftOf(brand))}>
              {words.discard}
            </button>
          )}
          <p class="quiet" role="status">
            {isChanged ? words.unsaved : words.unchanged}
          </p>
        </div>
      )}
    </form>
  )
}

const Swatch = ({ color }: { readonly color: string }) => (
  <span class="look-swatch" style={{ background: color }} aria-hidden="true" />
)

interface FieldProps {
  readonly field: Field
  readonly draft: Draft
  readonly setDraft: (draft: Draft) => void
}

function BrandField({ field, draft, setDraft }: FieldProps) {
  const isColor = field === 'color' || field === 'background'
  const set = (value: string) => setDraft({ ...draft, [field]: value })
  const isWrong = isUnreadable(draft, field)
  const hint = `hint-${field}`
  return (
    <div class="field">
      <label for={`brand-${field}`}>{words.fields[field]}</label>
      <span class="look-input">
        <input
          id={`brand-${field}`}
          name={field}
          inputMode={field === 'logoUrl' ? 'url' : 'text'}
          maxLength={field === 'name' ? 80 : field === 'logoUrl' ? 2048 : 7}
          autocomplete="off"
          spellcheck={false}
          placeholder={words.own}
          readOnly={!may(saves)}
          aria-describedby={hint}
          aria-invalid={isWrong}
          value={draft[field]}
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
        {isColor && (
          <input
            type="color"
            aria-label={words.pick(words.fields[field])}
            disabled={!may(saves)}
            value={parseColor(draft[field].trim()) ?? (field === 'color' ? '#0b6b4f' : '#fbfaf7')}
            onInput={({ currentTarget }) => set(currentTarget.value)}
          />
        )}
      </span>
      <span id={hint} class={isWrong ? 'problem-line' : 'quiet look-hint'}>
        {isWrong ? words.notColor : words.hints[field]}
      </span>
    </div>
  )
}
