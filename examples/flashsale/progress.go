package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// newProgress returns a bar on a terminal, and nothing on anything else.
func newProgress(buyers int, out io.Writer) *progressbar.ProgressBar {
	file, isFile := out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return progressbar.DefaultSilent(int64(buyers))
	}
	return progressbar.NewOptions(buyers,
		progressbar.OptionSetWriter(file),
		progressbar.OptionSetDescription("buyers served"),
		progressbar.OptionSetWidth(40),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionClearOnFinish())
}
