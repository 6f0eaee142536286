// Command registrar registers a CSI driver as kubernetes-csi/node-driver-registrar does, with its flags: it asks the
// driver for its name, makes the registration socket, answers GetInfo, exits with 1 when it is told that the driver was
// not taken, and removes its socket at SIGTERM only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func main() {
	address := flag.String("csi-address", "", "the driver's CSI socket")
	endpoint := flag.String("kubelet-registration-path", "", "the same, as the agent finds it; default --csi-address")
	dir := flag.String("plugin-registration-path", "", "directory of the registration socket")
	version := flag.String("csi-version", "1.0.0", "the CSI version that the driver is said to support")
	flag.Parse()
	if *endpoint == "" {
		*endpoint = *address
	}
	if err := run(*address, *endpoint, *dir, *version); err != nil {
		fmt.Fprintln(os.Stderr, "registrar:", err)
		os.Exit(1)
	}
}

func run(address, endpoint, dir, version string) error {
	name, err := nameOf(address)
	if err != nil {
		return err
	}
	socket := filepath.Join(dir, name+"-reg.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	mask := syscall.Umask(0o077)
	l, err := net.Listen("unix", socket)
	syscall.Umask(mask)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	go func() {
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		<-end
		_ = os.Remove(socket) // it may be another one's by now, as upstream has it
		os.Exit(0)
	}()
	server := grpc.NewServer()
	registerapi.RegisterRegistrationServer(server, registration{info: &registerapi.PluginInfo{
		Type: registerapi.CSIPlugin, Name: name, Endpoint: endpoint, SupportedVersions: []string{version},
	}})
	return server.Serve(l)
}

// nameOf waits for the driver's socket, for as long as it takes, and asks the driver for its name. One that does not
// answer within a second is an error: somebody starts the registrar again.
func nameOf(address string) (string, error) {
	conn, err := grpc.NewClient("unix:"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{
			BaseDelay:  50 * time.Millisecond,
			Multiplier: 1, MaxDelay: time.Second,
		}}))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		conn.WaitForStateChange(context.Background(), state)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	answer, err := csi.NewIdentityClient(conn).GetPluginInfo(ctx, &csi.GetPluginInfoRequest{})
	return answer.GetName(), err
}

type registration struct {
	registerapi.UnimplementedRegistrationServer
	info *registerapi.PluginInfo
}

// GetInfo implements registerapi.RegistrationServer.
func (r registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return r.info, nil
}

// NotifyRegistrationStatus implements registerapi.RegistrationServer.
func (registration) NotifyRegistrationStatus(
	_ context.Context, status *registerapi.RegistrationStatus,
) (*registerapi.RegistrationStatusResponse, error) {
	if !status.GetPluginRegistered() {
		fmt.Fprintln(os.Stderr, "registrar: refused:", status.GetError())
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "registrar: registered")
	return &registerapi.RegistrationStatusResponse{}, nil
}
