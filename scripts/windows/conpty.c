/* For Wine only: the pseudo console of Wine ends at once for options that it does not know. The crate
   portable-pty takes a library of this name where it finds one, and this one gives no options. */
#include <windows.h>

typedef HRESULT (WINAPI *Create)(COORD, HANDLE, HANDLE, DWORD, void **);
typedef HRESULT (WINAPI *Resize)(void *, COORD);
typedef void (WINAPI *Close)(void *);

static FARPROC system_function(const char *name)
{
    return GetProcAddress(GetModuleHandleA("kernel32"), name);
}

__declspec(dllexport) HRESULT WINAPI CreatePseudoConsole(COORD size, HANDLE in, HANDLE out, DWORD flags, void **console)
{
    (void)flags;
    return ((Create)system_function("CreatePseudoConsole"))(size, in, out, 0, console);
}

__declspec(dllexport) HRESULT WINAPI ResizePseudoConsole(void *console, COORD size)
{
    return ((Resize)system_function("ResizePseudoConsole"))(console, size);
}

__declspec(dllexport) void WINAPI ClosePseudoConsole(void *console)
{
    ((Close)system_function("ClosePseudoConsole"))(console);
}
