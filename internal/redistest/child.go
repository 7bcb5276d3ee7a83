package redistest

import (
	"bufio"
	"fmt"
	"os"
)

const (
	childName = "RUEIDISSON_CHILD"
	maxLine   = 1 << 20
)

// Children are the functions that a test binary can run as processes of their own, by name. See [Main] and [StartChild].
// The child's process ends with exit code 0 when its function returns.
type Children map[string]func(p *Parent)

// Parent is a child's side of the conversation with the test that started it: lines on standard input and output.
type Parent struct {
	in  *bufio.Scanner
	out *os.File
}

// Say sends one line to the test. It is written at once, and may be called from several goroutines.
func (p *Parent) Say(format string, args ...any) {
	_, _ = p.out.WriteString(fmt.Sprintf(format, args...) + "\n")
}

// Hear waits for the next line from the test; false means that the test has closed its side or is gone. One
// goroutine may call it at a time.
func (p *Parent) Hear() (line string, ok bool) {
	ok = p.in.Scan()
	return p.in.Text(), ok
}

// runChild turns this process into a child, if it was started as one, and then does not return.
func runChild(children []Children) {
	name := os.Getenv(childName)
	if name == "" {
		return
	}
	for _, known := range children {
		if run := known[name]; run != nil {
			in := bufio.NewScanner(os.Stdin)
			in.Buffer(nil, maxLine)
			run(&Parent{in: in, out: os.Stdout})
			os.Exit(0)
		}
	}
	fmt.Fprintf(os.Stderr, "redistest: no child %q in this test binary\n", name)
	os.Exit(2)
}
