import { useState } from 'preact/hooks'
import { hrefTo, navigate } from '../../router.tsx'
import { shell } from '../../words/shell.ts'
import { words } from './words.ts'

export function ChipsScreen() {
  const [text, setText] = useState('')
  const open = (event: Event) => {
    event.preventDefault()
    if (text.trim() !== '') navigate(hrefTo(`/chips/${encodeURIComponent(text.trim())}`))
  }
  return (
    <>
      <h1>{shell.screens.chips}</h1>
      <form class="search" onSubmit={open}>
        <label class="field">
          {words.search}
          <input type="search" value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
        </label>
        <button type="submit" class="button primary">
          {words.find}
        </button>
      </form>
    </>
  )
}
