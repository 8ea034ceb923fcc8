import { render } from 'preact'
import { App } from './app.tsx'
import { takeSecret } from './session.ts'
import { language } from './words/language.ts'

takeSecret()
document.documentElement.lang = language
const root = document.getElementById('app')
if (root) render(<App />, root)
