import { render } from 'preact'
import { App } from './app'
import './style.css'

const container = document.getElementById('explorer')
if (container) render(<App />, container)
