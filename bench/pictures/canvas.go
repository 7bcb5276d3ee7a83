package main

import (
	"bytes"
	"text/template"
)

// chart is a picture of horizontal bars. Texts are anchored to lines and not placed by the metrics of a font, because
// readers have other fonts than the machine that draws. Chart libraries for Go do the latter.
type chart struct {
	Title, About  string // About is for readers that cannot see the picture
	Width, Height int
	Subtitle      string
	Ticks         []tick
	Bars          []bar
	Top, Bottom   int // of the ticks' lines
}

// tick is a vertical line with a text below it, or above it if it is a mark.
type tick struct {
	X    int
	Text string
	Mark bool
}

// bar is one bar with its name to the left and its value to the right. A bold bar begins a group.
type bar struct {
	X, Y, Width, Height   int
	Class                 string
	NameX                 int
	Name, Against         string
	TextX                 int
	Text, Verdict         string
	VerdictClass, Heading string
	HeadingY              int
}

// Base returns the line of text beside the bar.
func (b bar) Base() int { return b.Y + b.Height/2 + 5 }

// style has the colors for light backgrounds, and those for dark ones.
const style = `
    text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; font-size: 13px; fill: #24292f }
    .title { font-size: 18px; font-weight: 600 } .heading, .value { font-weight: 600 }
    .muted { fill: #57606a } .small { font-size: 12px }
    .paper { fill: #ffffff; stroke: #d0d7de } .grid { stroke: #d8dee4 } .mark { stroke: #57606a; stroke-dasharray: 4 3 }
    .ours { fill: #0969da } .other { fill: #cf222e } .good { fill: #1a7f37 } .slower { fill: #8c959f }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } .muted { fill: #9198a1 }
      .paper { fill: #0d1117; stroke: #30363d } .grid { stroke: #272d35 } .mark { stroke: #9198a1 }
      .ours { fill: #4493f8 } .other { fill: #f85149 } .good { fill: #3fb950 } .slower { fill: #656c76 }
    }
`

var layout = template.Must(template.New("svg").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{.Height}}" width="{{.Width}}" height="{{.Height}}" role="img">
  <title>{{html .Title}}</title>
  <desc>{{html .About}}</desc>
  <style>` + style + `  </style>
  <rect class="paper" x="0.5" y="0.5" rx="8" width="{{.InnerWidth}}" height="{{.InnerHeight}}"/>
  <text class="title" x="24" y="36">{{html .Title}}</text>
  <text class="muted" x="24" y="58">{{html .Subtitle}}</text>
{{- $c := .}}
{{- range .Ticks}}
  <line class="{{if .Mark}}mark{{else}}grid{{end}}" x1="{{.X}}" y1="{{$c.Top}}" x2="{{.X}}" y2="{{$c.Bottom}}"/>
  <text class="muted small" text-anchor="middle" x="{{.X}}" y="{{if .Mark}}{{$c.MarkY}}{{else}}{{$c.TickY}}{{end}}">{{html .Text}}</text>
{{- end}}
{{- range .Bars}}
{{- if .Heading}}
  <text class="heading" x="24" y="{{.HeadingY}}">{{html .Heading}} <tspan class="{{.VerdictClass}}" dx="6">{{html .Verdict}}</tspan></text>
{{- end}}
  <text text-anchor="end" x="{{.NameX}}" y="{{.Base}}">{{html .Name}}{{if .Against}} <tspan class="muted small">{{html .Against}}</tspan>{{end}}</text>
  <rect class="{{.Class}}" x="{{.X}}" y="{{.Y}}" rx="2" width="{{.Width}}" height="{{.Height}}"/>
  <text class="value" x="{{.TextX}}" y="{{.Base}}">{{html .Text}}</text>
{{- end}}
</svg>
`))

// InnerWidth returns the width within the frame.
func (c chart) InnerWidth() int { return c.Width - 1 }

// InnerHeight returns the height within the frame.
func (c chart) InnerHeight() int { return c.Height - 1 }

// TickY returns where the texts of the ticks stand, below the bars.
func (c chart) TickY() int { return c.Bottom + 18 }

// MarkY returns where the text of the mark stands, above the bars.
func (c chart) MarkY() int { return c.Top - 6 }

// svg draws the picture.
func (c chart) svg() ([]byte, error) {
	var out bytes.Buffer
	err := layout.Execute(&out, c)
	return out.Bytes(), err
}
