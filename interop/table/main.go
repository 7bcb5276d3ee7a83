// Command table writes the README's table of what the interop tests have proven.
//
//	go test -json -tags interop ./interop/... | go run ./interop/table
//	go run ./interop/table -readme README.md results.json
//
// It reads what go test -json prints, from a file or from standard input, and writes one row for each
// operation of each object, with a column for each direction. Package interop says how a test is named
// to be part of it. A cell is green only where a test ran and passed:
//
//	✅ passed    ❌ failed, or was cut short    – skipped, or no such test
//
// Without -readme the table goes to standard output. With it, it takes the place of what is between the
// lines <!-- interop:begin --> and <!-- interop:end --> of that file.
//
// The exit code is 1 if a test of the run failed or if there was none for the table, so that a pipe does
// not hide what go test found.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	readme := flag.String("readme", "", "file to write the table into; standard output if empty")
	flag.Parse()
	if err := run(flag.Arg(0), *readme, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(results, readme string, stdin io.Reader, stdout io.Writer) error {
	report, err := readResults(results, stdin)
	if err != nil {
		return err
	}
	if len(report.rows()) == 0 {
		return errors.New("no test named TestInterop.../<object>/<operation>/<direction> in the results")
	}
	if err := publish(report.table(), readme, stdout); err != nil {
		return err
	}
	return report.problem()
}

func readResults(path string, stdin io.Reader) (*report, error) {
	if path == "" {
		return read(stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file)
}

func publish(table, readme string, stdout io.Writer) error {
	if readme == "" {
		_, err := io.WriteString(stdout, table)
		return err
	}
	before, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	after, err := replace(string(before), table)
	if err != nil {
		return fmt.Errorf("%s: %w", readme, err)
	}
	return os.WriteFile(readme, []byte(after), 0o644)
}
