// Command table keeps the table of docs/interop.md, of what the interop tests have proven.
//
//	go test -json -tags interop ./interop/... | go run ./interop/table
//	go run ./interop/table -write docs/interop.md results.json
//	go run ./interop/table -check docs/interop.md results.json
//
// It reads what go test -json prints, from a file or from standard input, and makes one row for each
// operation of each object, with a column for each direction. Package interop says how a test is named
// to be part of it. A cell is green only where a test ran and passed:
//
//	✅ passed    ❌ failed, or was cut short    – skipped, or no such test
//
// What a test says of itself with t.Attr("footnote", text) is told under the table.
//
// The table goes to standard output. With -write it takes the place of what is between the lines
// <!-- interop:begin --> and <!-- interop:end --> of that file, unless something is wrong with the run. With
// -check it is compared with what stands there: a test that is new, gone, or was left out is a difference.
//
// The exit code is 1 if the table differs, if a test of the run failed or was skipped, or if there was none for
// the table. So a pipe does not hide what go test found.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rueidisson/rueidisson/internal/page"
)

// part is the table's name in the page.
const part = "interop"

// options are the command line.
type options struct {
	results      string // file of events; standard input if empty
	write, check string
}

func main() {
	var o options
	flag.StringVar(&o.write, "write", "", "file to write the table into")
	flag.StringVar(&o.check, "check", "", "file to compare the table with")
	flag.Parse()
	o.results = flag.Arg(0)
	if err := run(o, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(o options, stdin io.Reader, stdout io.Writer) error {
	report, err := readResults(o.results, stdin)
	if err != nil {
		return err
	}
	if len(report.rows()) == 0 {
		return errors.Join(errors.New("no test named TestInterop.../<object>/<operation>/<direction> in the results"), report.problem())
	}
	problem := report.problem()
	switch {
	case o.check == "" && o.write == "":
		_, err := io.WriteString(stdout, report.table())
		return errors.Join(problem, err)
	case problem != nil: // such a run has not proven what a page may claim
		return problem
	case o.check != "":
		return page.Check(o.check, part, report.table(), "what the tests have proven (- as it stands there, + as they ran)")
	default:
		return page.Write(o.write, part, report.table())
	}
}

func readResults(name string, stdin io.Reader) (*report, error) {
	if name == "" {
		return read(stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file)
}
