package chaos

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/xml"
	"fmt"
	"html/template"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shot is what the picture of a round shows.
type shot struct {
	Nemesis, Object, Topology   string
	Operations, Faults, Chances int
	Found                       []string // violations, the first line of each
	Length                      time.Duration

	bars   []bar
	faults []bar // of no goroutine
	marks  []time.Duration
}

// bar is a time of a goroutine, from the beginning of the round on.
type bar struct {
	line     int // number of the goroutine in all processes
	from, to time.Duration
	kind     string
}

// Kinds of bars: a hold that is trusted, a call that is no hold, and what a violation tells of.
const (
	holdBar = "hold"
	callBar = "call"
	badBar  = "violation"
)

func shoot(topology, object string, n nemesis, v verdict) shot {
	s := shot{Nemesis: n.name, Object: object, Topology: topology, Operations: v.holds + v.done, Faults: v.faults, Chances: v.chances}
	bad := map[string]bool{}
	for _, found := range v.violations {
		line, _, _ := strings.Cut(found, "\n")
		s.Found = append(s.Found, line)
		for _, hold := range aHold.FindAllString(found, -1) {
			bad[hold] = true
		}
	}
	if len(v.events) == 0 {
		return s
	}
	first := slices.MinFunc(v.events, func(a, b event) int { return cmp.Compare(a.At, b.At) }).At
	since := func(at int64) time.Duration { return time.Duration(at - first) }
	kind := func(proc, worker int, hold int64, kind string) string {
		if bad[fmt.Sprintf("process %d, worker %d, hold %d", proc, worker, hold)] {
			return badBar
		}
		return kind
	}
	for _, spans := range spansOf(v.events) {
		for _, h := range spans {
			s.bars = append(s.bars, bar{(h.proc-1)*workers + h.worker, since(h.from), since(h.to), kind(h.proc, h.worker, h.hold, holdBar)})
		}
	}
	type call struct {
		proc, worker int
		hold         int64
		op           string
	}
	open := map[call]int64{}
	fault := map[string]int64{}
	for _, e := range v.events {
		s.Length = max(s.Length, since(e.At))
		switch c := (call{e.Proc, e.Worker, e.Hold, e.Op}); e.Kind {
		case begins:
			open[c] = e.At
		case ends:
			s.bars = append(s.bars, bar{(e.Proc-1)*workers + e.Worker, since(open[c]), since(e.At), kind(e.Proc, e.Worker, e.Hold, callBar)})
		case breaks:
			fault[e.Outcome] = e.At
		case heals:
			s.faults = append(s.faults, bar{from: since(fault[e.Outcome]), to: since(e.At)})
			delete(fault, e.Outcome)
		case delivers:
			s.marks = append(s.marks, since(e.At))
		}
	}
	for _, at := range fault { // such as a process that was killed
		s.faults = append(s.faults, bar{from: since(at), to: since(at)})
	}
	return s
}

const (
	mostPicture = 400 << 10 // bytes of the page
	aroundPaths = 60 << 10  // of these for all that is no bar
	mostBars    = 5000      // of a round, else they are drawn per 50 ms
	lineHeight  = 5
	leftOfLines = 60
	width       = 1000
)

// grids are the steps in which bars are drawn.
var grids = []time.Duration{time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, time.Second}

// path draws the bars of a kind. Those of a goroutine that touch each other in the grid are one.
func (s shot) path(kind string, grid time.Duration) string {
	some := slices.DeleteFunc(slices.Clone(s.bars), func(b bar) bool { return b.kind != kind })
	slices.SortFunc(some, func(a, b bar) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.from, b.from)) })
	var text []byte
	line, end := -1, int64(0) // where the last bar ended, ms
	var from, to time.Duration
	flush := func() {
		if line < 0 {
			return
		}
		a, b := from.Milliseconds(), max(to.Milliseconds(), from.Milliseconds()+2)
		if end < 0 {
			text = fmt.Appendf(text, "M%d %d", a, line*lineHeight+lineHeight/2)
		} else {
			text = fmt.Appendf(text, "m%d 0", a-end)
		}
		text = fmt.Appendf(text, "h%d", b-a)
		end = b
	}
	for _, b := range some {
		b.from, b.to = b.from.Truncate(grid), (b.to + grid - 1).Truncate(grid)
		if b.line == line && b.from <= to {
			to = max(to, b.to)
			continue
		}
		flush()
		if b.line != line {
			end = -1
		}
		line, from, to = b.line, b.from, b.to
	}
	flush()
	return string(text)
}

// figureOf is a shot as the page shows it.
type figureOf struct {
	shot
	Lines, Processes, Height, Left int
	Scale                          string
	Coarse                         string // the grid, if it is a coarse one
	Labels, Seconds                []label
	Bands, Rules, Marks            string
	Calls, Holds, Bad              string
}

type label struct {
	X, Y int
	Text string
}

// figured chooses the finest grid with which the bars have so many bytes at most.
func (s shot) figured(most int) figureOf {
	f := figureOf{shot: s, Lines: processes * workers, Processes: processes, Left: leftOfLines}
	f.Length = s.Length.Round(10 * time.Millisecond)
	for _, grid := range grids {
		if grid == grids[0] && len(s.bars) > mostBars {
			continue
		}
		f.Calls, f.Holds, f.Bad = s.path(callBar, grid), s.path(holdBar, grid), s.path(badBar, grid)
		if f.Coarse = ""; grid > grids[0] {
			f.Coarse = grid.String()
		}
		if len(f.Calls)+len(f.Holds)+len(f.Bad) <= most {
			break
		}
	}
	bottom := f.Lines * lineHeight
	f.Height = bottom + 18
	long := max(s.Length, time.Millisecond)
	scale := float64(width-leftOfLines) / float64(long.Milliseconds())
	f.Scale = strconv.FormatFloat(scale, 'f', 5, 64)
	for p := range processes {
		f.Labels = append(f.Labels, label{0, (p*workers+workers/2)*lineHeight + 4, fmt.Sprint("process ", p+1)})
		f.Rules += fmt.Sprintf("M0 %dh%d", (p+1)*workers*lineHeight, long.Milliseconds())
	}
	for at := time.Duration(0); at <= long; at += time.Second {
		f.Seconds = append(f.Seconds, label{leftOfLines + int(float64(at.Milliseconds())*scale), bottom + 14, at.String()})
	}
	for _, b := range s.faults {
		f.Bands += fmt.Sprintf("M%d 0h%dv%dh-%[2]dz", b.from.Milliseconds(), max((b.to-b.from).Milliseconds(), 4), bottom)
	}
	for _, at := range s.marks {
		f.Marks += fmt.Sprintf("M%d 0v%d", at.Milliseconds(), lineHeight)
	}
	return f
}

//go:embed testdata/reliability.html
var reliabilityHTML string

// draw returns the page of pictures.
func draw(verdict string, shots []shot) ([]byte, error) {
	t, err := template.New("").Parse(reliabilityHTML)
	if err != nil {
		return nil, err
	}
	var figures []figureOf
	for _, s := range shots {
		figures = append(figures, s.figured((mostPicture-aroundPaths)/len(shots)))
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Verdict": strings.Split(strings.TrimSpace(verdict), "\n"), "Shots": figures})
	return out.Bytes(), err
}

// small is a record of two workers, with a fault and a violation.
func small() verdict {
	ms := func(n int64) int64 { return 1_000_000_000 + n*1_000_000 }
	return verdict{
		chances: 3, holds: 2, done: 1, faults: 2, violations: []string{"a: two or more <trust>:\n\tprocess 1, worker 2, hold 3"},
		events: []event{
			{At: ms(0), Proc: 1, Worker: 2, Hold: 3, Kind: asks},
			{At: ms(100), Proc: 1, Worker: 2, Hold: 3, Kind: trusts, Name: "a"},
			{At: ms(250), Proc: 1, Worker: 2, Hold: 3, Kind: trusts, Name: "a"},
			{At: ms(200), Kind: breaks, Outcome: "cut"},
			{At: ms(300), Kind: heals, Outcome: "cut"},
			{At: ms(310), Kind: delivers},
			{At: ms(400), Proc: 4, Worker: 7, Hold: 1, Kind: begins, Name: "a", Op: "poll"},
			{At: ms(1500), Proc: 4, Worker: 7, Hold: 1, Kind: ends, Name: "a", Op: "poll"},
			{At: ms(500), Proc: 2, Worker: 0, Hold: 1, Kind: trusts, Name: "a"},
			{At: ms(500), Proc: 2, Worker: 0, Hold: 1, Kind: trusts, Name: "a"},
			{At: ms(600), Kind: breaks, Outcome: "killed process"},
		},
	}
}

// svgs returns the pictures of a page.
func svgs(t *testing.T, page []byte) (all []string) {
	t.Helper()
	for _, part := range strings.Split(string(page), "<svg ")[1:] {
		picture, _, is := strings.Cut("<svg "+part, "</svg>")
		require.True(t, is)
		all = append(all, picture+"</svg>")
	}
	return all
}

func TestARecordIsDrawn(t *testing.T) {
	t.Parallel()
	s := shoot("8.0", "lock", named("cut"), small())
	page, err := draw("one\ntwo\n", []shot{s, shoot("7.0", "fair", named("killed"), verdict{})})
	require.NoError(t, err)
	all := svgs(t, page)
	require.Len(t, all, 2)
	var picture struct {
		Title string `xml:"title"`
		Desc  string `xml:"desc"`
		Role  string `xml:"role,attr"`
		Paths []struct {
			Class string `xml:"class,attr"`
			D     string `xml:"d,attr"`
		} `xml:"g>path"`
	}
	require.NoError(t, xml.Unmarshal([]byte(all[0]), &picture))
	require.Equal(t, "lock under cut on 8.0", picture.Title)
	require.Equal(t, "img", picture.Role)
	require.Contains(t, picture.Desc, "32 goroutines of 4 processes for 1.5s: 3 operations and holds, 2 faults, 3 chances, 1 violations")
	drawn := map[string]string{}
	for _, p := range picture.Paths {
		drawn[p.Class] = p.D
	}
	require.Equal(t, "M100 12h150", drawn["violation"], "process 1, worker 2, from 100 to 250 ms")
	require.Equal(t, "M500 42h2", drawn["hold"], "process 2, worker 0: a moment is a short bar")
	require.Equal(t, "M400 157h1100", drawn["call"], "process 4, worker 7")
	require.Equal(t, "M200 0h100v160h-100zM600 0h4v160h-4z", drawn["fault"])
	require.Equal(t, "M310 0v5", drawn["mark"])
	text := string(page)
	require.Contains(t, text, "Violation: a: two or more &lt;trust&gt;:")
	require.Equal(t, 1, strings.Count(text, "No violation."))
	require.Contains(t, text, "<p>one</p>\n<p>two</p>")
	wellMade(t, page)
}

// wellMade checks what holds of any page of pictures.
func wellMade(t *testing.T, page []byte) {
	t.Helper()
	require.LessOrEqual(t, len(page), mostPicture)
	text := strings.ToLower(string(page))
	for _, no := range []string{"<script", "javascript:", "http://", "https://", "src=", "@import", "url(", " onload"} {
		require.NotContains(t, text, no, "it is one file without programs")
	}
	require.Contains(t, text, "prefers-color-scheme: dark")
	for _, picture := range svgs(t, page) {
		require.NoError(t, xml.Unmarshal([]byte(picture), new(struct{ XMLName xml.Name })))
		require.Contains(t, picture, "<title ")
		require.Contains(t, picture, "<desc ")
	}
}

// TestManyBarsAreDrawnCoarsely: a round with more than 5,000 bars, or with more than there is room for, is drawn per 50 ms or more.
func TestManyBarsAreDrawnCoarsely(t *testing.T) {
	t.Parallel()
	busy := func(n int) (s shot) {
		s = shot{Nemesis: "cut", Length: 3 * time.Second}
		for i := range n {
			from := time.Duration(i/32) * 3 * time.Second / time.Duration(n/32+1)
			s.bars = append(s.bars, bar{i % 32, from, from, callBar})
		}
		return s
	}
	require.Empty(t, busy(mostBars).figured(mostPicture).Coarse)
	require.Equal(t, "50ms", busy(mostBars+1).figured(mostPicture).Coarse)
	require.Less(t, len(busy(mostBars+1).figured(mostPicture).Calls), 32*20, "bars that touch each other are one")
	require.Equal(t, "50ms", busy(mostBars).figured(1000).Coarse, "there is no room for more")
	var many []shot
	for range 60 {
		many = append(many, busy(mostBars))
	}
	page, err := draw("", many)
	require.NoError(t, err)
	require.Len(t, svgs(t, page), 60)
	wellMade(t, page)
}

// TestThePicturesAreOneSmallFile looks at those that are published.
func TestThePicturesAreOneSmallFile(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(strings.TrimSuffix(reliability, ".md") + ".html")
	require.NoError(t, err)
	require.NotEmpty(t, svgs(t, page))
	wellMade(t, page)
}
