package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// oldestJava is what the sources of the peer are written in.
const oldestJava = 17

// errNoTools says what is missing on this machine; the test is skipped for it.
var errNoTools = errors.New("needs a JDK 17 or later and Maven")

// javaTool finds a program of the JDK that JAVA_HOME names, or of the one on PATH.
func javaTool(ctx context.Context, name string) (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		name = filepath.Join(home, "bin", name)
	}
	path, err := tool(name)
	if err != nil {
		return "", err
	}
	return path, newEnough(ctx, path)
}

func tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoTools, err)
	}
	return path, nil
}

// release is the first number in what java and javac say: openjdk version "17.0.15" 2025-04-15, javac 1.8.0_292.
var release = regexp.MustCompile(`(?m)^(?:\w+ version "|javac )(\d+)`)

func newEnough(ctx context.Context, path string) error {
	said, err := exec.CommandContext(ctx, path, "-version").CombinedOutput() // Java 8 says it on standard error
	if err != nil {
		return fmt.Errorf("%s -version: %w\n%s", path, err, said)
	}
	found := release.FindSubmatch(said)
	if found == nil {
		return fmt.Errorf("%s -version says %q", path, said)
	}
	if version, err := strconv.Atoi(string(found[1])); err != nil || version < oldestJava {
		return fmt.Errorf("%w: %s is of version %s", errNoTools, path, found[1])
	}
	return nil
}

// project returns the folder of the pom, looked for from the working directory of the test upwards.
func project() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		folder := filepath.Join(dir, "interop", "java")
		if _, err := os.Stat(filepath.Join(folder, "pom.xml")); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no interop/java/pom.xml above the working directory")
		}
		dir = parent
	}
}
