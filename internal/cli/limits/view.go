package limits

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// view is how a watch shows what it sees.
type view interface {
	draw(name, key string, d ratelimiter.Decision)
	end()
}

func (w *watching) view(title string) view {
	switch {
	case w.JSON:
		return jsonView{w.limitTool}
	case tool.OnTerminal(w.Stdout.To):
		return barView{w.Stdout.To.(*os.File), title}
	}
	return lineView{w.Stdout}
}

// jsonView is an object in each line.
type jsonView struct{ *limitTool }

// seen is what limit watch tells.
type seen struct {
	Time time.Time `json:"time"`
	decided
}

func (v jsonView) draw(name, key string, d ratelimiter.Decision) {
	v.SayJSON(v.Stdout, seen{time.Now().UTC(), v.decided(name, key, d)})
}

func (jsonView) end() {}

// lineView is a line each.
type lineView struct{ out io.Writer }

func (v lineView) draw(_, _ string, d ratelimiter.Decision) {
	fmt.Fprintf(v.out, "%s  %s\n", time.Now().Format(time.TimeOnly), left(d))
}

func (lineView) end() {}

// left returns what a line says of a bucket.
func left(d ratelimiter.Decision) string {
	said := []string{fmt.Sprintf("%d of %d left", d.Remaining, d.Limit)}
	switch {
	case d.Allowed:
	case d.Paused:
		said = append(said, "paused")
	case never(d):
		said = append(said, "nothing is granted")
	default:
		said = append(said, "refused for "+toTheMilli(d.RetryAfter))
	}
	if d.ResetAfter > 0 {
		said = append(said, "full in "+toTheMilli(d.ResetAfter))
	}
	return strings.Join(said, ", ")
}

// barView is one line of a terminal, drawn anew each time.
type barView struct {
	screen *os.File
	title  string
}

const (
	barWidth   = 30
	redrawLine = "\r\x1b[K"
)

func (v barView) draw(_, _ string, d ratelimiter.Decision) {
	line := fmt.Sprintf("%s %s %s", v.title, bar(d.Remaining, d.Limit), left(d))
	// A line that wraps could not be drawn over. The last column is left free:
	// some terminals go to the next line when it is filled.
	if width, _, err := term.GetSize(int(v.screen.Fd())); err == nil && width > 1 {
		line = text.Trim(line, width-1)
	}
	fmt.Fprint(v.screen, redrawLine+line)
}

// end leaves the last line as it is.
func (v barView) end() { fmt.Fprintln(v.screen) }

// bar is empty only if nothing is there, and full only if all is.
func bar(n, of int64) string {
	filled := int(float64(n) / float64(max(of, 1)) * barWidth)
	switch {
	case of == 0: // nothing is ever there
	case n >= of:
		filled = barWidth
	case n > 0:
		filled = min(max(filled, 1), barWidth-1)
	}
	return strings.Repeat("█", filled) + strings.Repeat("░", barWidth-filled)
}
